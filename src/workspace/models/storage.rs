//! How weights are held: at the width of the file, widened to f32, or random.

use candle_core::quantized::GgmlDType;
use moot_models::Residency;
use moot_models::weights::{type_name, type_named};
use serde::{Deserialize, Serialize};

/// Which weights a model gets, and how they are held in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum WeightStorage {
    /// The file's, at their stored width.
    #[default]
    Stored,
    /// The file's, widened to f32.
    Widened,
    /// Random weights of this type; `None` takes the catalog's type.
    Random(Option<GgmlDType>),
}

impl WeightStorage {
    /// Parses `stored`, `widened`, `random` or `random:Q4_K`.
    ///
    /// # Errors
    /// The expected value.
    pub fn parse(typed: &str) -> Result<Self, String> {
        match typed.split_once(':') {
            None if typed == "stored" => Ok(Self::Stored),
            None if typed == "widened" => Ok(Self::Widened),
            None if typed == "random" => Ok(Self::Random(None)),
            Some(("random", name)) => match type_named(name) {
                Some(dtype) => Ok(Self::Random(Some(dtype))),
                None => Err("expected a type as f32, f16, bf16, q4_0, q8_0, q4_k or q6_k after random:".to_owned()),
            },
            _ => Err("expected stored, widened, random or random:TYPE".to_owned()),
        }
    }

    /// Their residency in memory.
    #[must_use]
    pub fn residency(self) -> Residency {
        match self {
            Self::Widened => Residency::Dense,
            Self::Stored | Self::Random(_) => Residency::AsStored,
        }
    }
}

impl TryFrom<String> for WeightStorage {
    type Error = String;

    fn try_from(typed: String) -> Result<Self, String> {
        Self::parse(&typed)
    }
}

impl From<WeightStorage> for String {
    fn from(storage: WeightStorage) -> Self {
        match storage {
            WeightStorage::Stored => "stored".into(),
            WeightStorage::Widened => "widened".into(),
            WeightStorage::Random(None) => "random".into(),
            WeightStorage::Random(Some(dtype)) => format!("random:{}", type_name(dtype).to_lowercase()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WeightStorage;
    use candle_core::quantized::GgmlDType;

    #[test]
    fn types_are_read_in_either_case() {
        assert_eq!(WeightStorage::parse("stored"), Ok(WeightStorage::default()));
        assert_eq!(WeightStorage::parse("random"), Ok(WeightStorage::Random(None)));
        for typed in ["random:q4_k", "random:Q4_K"] {
            assert_eq!(WeightStorage::parse(typed), Ok(WeightStorage::Random(Some(GgmlDType::Q4K))));
        }
        for typed in ["", "Stored", "stored:f32", "random:", "random:q9_k", "random:q8_k", "random:f32:f32"] {
            assert!(WeightStorage::parse(typed).is_err(), "{typed}");
        }
    }
}
