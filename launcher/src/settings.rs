//! The settings that a child gets before it loads anything: one argument of its command line.

use std::time::Duration;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The child's parent. The child must end when this process ends.
    pub parent: u32,
    /// The timeout of the child's one execution.
    pub timeout: Duration,
    /// Bytes of heap, and the same number again of buffers.
    pub memory: u64,
    /// Bytes of private writable memory for the whole process; 0 means no limit.
    pub data: u64,
    /// The web APIs that guests have, as bits.
    pub web: u32,
    /// The names of the layers of the confinement that are switched off.
    pub off: Vec<String>,
    /// The folder of the control group that the parent has made for the child.
    pub cgroup: Option<String>,
    /// Operations to try instead of an execution (`src/child/probe/`).
    pub probe: Option<String>,
    /// Whether the first thing that the child gets is a snapshot.
    pub snapshot: bool,
    /// Guests have `gc()`, as where the snapshot was made.
    pub gc: bool,
}

impl Settings {
    pub fn encode(&self) -> String {
        let Self { parent, timeout, memory, data, web, off, cgroup, probe, snapshot, gc } = self;
        let (timeout, off) = (timeout.as_millis(), off.join(","));
        let optional =
            |key: &str, text: &Option<String>| text.as_ref().map_or(String::new(), |text| format!(";{key}={text}"));
        let (cgroup, probe) = (optional("cgroup", cgroup), optional("probe", probe));
        let flag = |key: &str, is: bool| if is { format!(";{key}=true") } else { String::new() };
        let (snapshot, gc) = (flag("snapshot", *snapshot), flag("gc", *gc));
        format!(
            "parent={parent};timeout={timeout};memory={memory};data={data};web={web};off={off}{cgroup}{probe}{snapshot}{gc}"
        )
    }

    /// Returns `None` for anything that [`Settings::encode`] has not made.
    pub fn decode(text: &str) -> Option<Self> {
        let mut settings = Self::default();
        for part in text.split(';') {
            let (key, value) = part.split_once('=')?;
            match key {
                "parent" => settings.parent = value.parse().ok()?,
                "timeout" => settings.timeout = Duration::from_millis(value.parse().ok()?),
                "memory" => settings.memory = value.parse().ok()?,
                "data" => settings.data = value.parse().ok()?,
                "web" => settings.web = value.parse().ok()?,
                "off" => settings.off = value.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
                "cgroup" => settings.cgroup = Some(value.to_owned()),
                "probe" => settings.probe = Some(value.to_owned()),
                "snapshot" => settings.snapshot = value.parse().ok()?,
                "gc" => settings.gc = value.parse().ok()?,
                _ => return None,
            }
        }
        Some(settings)
    }

    /// Whether a layer of the confinement is switched on.
    pub fn wants(&self, layer: &str) -> bool {
        !self.off.iter().any(|name| name == layer)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Settings;

    #[test]
    fn survive_a_round_trip() {
        let off = vec!["seccomp".to_owned(), "landlock".to_owned()];
        let timeout = Duration::from_millis(1_234);
        let mut settings =
            Settings { parent: 7, timeout, memory: 8 << 20, data: 9 << 20, web: 3, off, ..Settings::default() };
        assert_eq!(Settings::decode(&settings.encode()), Some(settings.clone()));
        assert!(!settings.wants("seccomp") && settings.wants("rlimits"));
        settings.off.clear();
        settings.cgroup = Some("/sys/fs/cgroup/a=b".to_owned());
        settings.probe = Some("open /etc/hostname|kill 1".to_owned());
        (settings.snapshot, settings.gc) = (true, true);
        assert_eq!(Settings::decode(&settings.encode()), Some(settings));
        assert_eq!(Settings::decode("parent=x;timeout=1"), None);
        assert_eq!(Settings::decode(""), None);
    }
}
