//! Landlock: no file can be opened or run, no port bound or connected to, and no outside process signalled, as far as the kernel supports
//! each.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetError, RulesetStatus, Scope,
};

use super::refusal::Refusal;

/// The newest ABI known here. Older kernels apply what they support.
const NEWEST: ABI = ABI::V6;

pub fn deny() -> Result<String, Refusal> {
    match restrict() {
        Ok(RestrictionStatus { ruleset: RulesetStatus::NotEnforced, .. }) => {
            Err(Refusal("this kernel has no landlock, or it is not enabled".to_owned()))
        }
        Ok(RestrictionStatus { landlock: LandlockStatus::Available { effective_abi, .. }, .. }) => {
            Ok(covered(effective_abi).to_owned())
        }
        Ok(_) => Ok(covered(ABI::V1).to_owned()),
        Err(error) => Err(Refusal(error.to_string())),
    }
}

fn restrict() -> Result<RestrictionStatus, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .restrict_self()
}

fn covered(abi: ABI) -> &'static str {
    if abi >= ABI::V6 {
        "files, network, signals"
    } else if abi >= ABI::V4 {
        "files, network"
    } else {
        "files"
    }
}
