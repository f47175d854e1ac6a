//! Which layers of the confinement hold in a child, as the child reports them.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub name: String,
    pub active: bool,
    /// What it does, or why it does not hold.
    pub detail: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub layers: Vec<Layer>,
}

/// Larger reports are refused.
const MAX_LAYERS: usize = 64;
const MAX_CHARACTERS: usize = 512;

impl Report {
    pub fn add(&mut self, name: &str, active: bool, detail: impl Into<String>) {
        self.layers.push(Layer { name: name.to_owned(), active, detail: detail.into() });
    }

    /// The names of the layers that hold, separated by commas.
    pub fn active(&self) -> String {
        let names: Vec<&str> =
            self.layers.iter().filter(|layer| layer.active).map(|layer| layer.name.as_str()).collect();
        names.join(",")
    }

    /// The first of the `required` layers that does not hold, and why.
    pub fn missing(&self, required: &[String]) -> Option<(String, String)> {
        required.iter().find_map(|name| match self.layers.iter().find(|layer| layer.name == *name) {
            Some(layer) if layer.active => None,
            Some(layer) => Some((name.clone(), layer.detail.clone())),
            None => Some((name.clone(), "this system has no such layer".to_owned())),
        })
    }

    /// Marks a layer as inactive, even if the report says that it holds.
    pub fn contradict(&mut self, name: &str, why: &str) {
        for layer in self.layers.iter_mut().filter(|layer| layer.name == name && layer.active) {
            layer.active = false;
            layer.detail = format!("the process says that it holds, but its host sees that it does not: {why}");
        }
    }

    /// One line for each layer: its name, `on` or `off`, and the detail, separated by tabs.
    pub fn encode(&self) -> String {
        let line = |Layer { name, active, detail }: &Layer| {
            let plain = |text: &str| text.replace(['\t', '\n', '\r'], " ");
            format!("{}\t{}\t{}\n", plain(name), if *active { "on" } else { "off" }, plain(detail))
        };
        self.layers.iter().map(line).collect()
    }

    /// Returns `None` for anything that [`Report::encode`] has not made, and for reports beyond the limits.
    pub fn decode(text: &str) -> Option<Self> {
        let mut report = Self::default();
        for line in text.lines() {
            let mut parts = line.split('\t');
            let (name, state, detail) = (parts.next()?, parts.next()?, parts.next()?);
            let known = matches!(state, "on" | "off") && parts.next().is_none();
            let short = name.len() <= MAX_CHARACTERS && detail.len() <= MAX_CHARACTERS;
            if !known || !short || report.layers.len() == MAX_LAYERS {
                return None;
            }
            report.add(name, state == "on", detail);
        }
        Some(report)
    }
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn survives_a_round_trip() {
        let mut report = Report::default();
        assert_eq!(Report::decode(""), Some(report.clone()));
        report.add("rlimits", true, "core 0");
        report.add("landlock", false, "this kernel has none");
        assert_eq!(Report::decode(&report.encode()), Some(report));
    }

    #[test]
    fn rejects_invalid_reports() {
        for text in ["a", "a\ton", "a\tperhaps\tb", "a\ton\tb\tc"] {
            assert_eq!(Report::decode(text), None, "{text}");
        }
        assert_eq!(Report::decode(&"a\ton\tb\n".repeat(65)), None);
        assert_eq!(Report::decode(&format!("a\ton\t{}", "b".repeat(513))), None);
    }
}
