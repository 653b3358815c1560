//! Faults of a server (leaf module): kinds of HTTP fault, and a hint for each.

/// The kind of fault of a remote model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteFault {
    /// No server answers: no such host, nothing at the port, no TLS.
    Unreachable,
    /// The server wants a key, or another one.
    Key,
    /// The server does not have the model, or does not speak the protocol.
    Missing,
    /// Too many calls, or the server is overloaded, for longer than was waited.
    Busy,
    /// The account's quota is used up.
    Quota,
    /// The server does not take this very call: a prompt too long for it, say. Others may do.
    Refused,
    /// The server sent nothing for too long.
    Silent,
    /// The response does not follow the protocol.
    Broken,
}

impl RemoteFault {
    /// A remedy for the user.
    #[must_use]
    pub fn hint(self) -> Option<&'static str> {
        Some(match self {
            Self::Unreachable => "check the address and that the server runs; http and https are not the same",
            Self::Key => "put the server's key into the environment variable MOOT_API_KEY",
            Self::Missing => {
                "the address ends in the API's version and the model's name: http://host:port/v1#model-name"
            }
            Self::Busy => "lower --remote-calls, or try again later: what is recorded is not asked again",
            Self::Quota => "the account has no credit left; what is recorded is not asked again",
            Self::Silent => "raise --remote-timeout, or lower --remote-calls",
            Self::Broken => "does the address lead to an OpenAI-compatible API, as http://host:port/v1 does?",
            Self::Refused => return None,
        })
    }

    /// A remedy for the user, if the server is a Qdrant collection.
    #[must_use]
    pub(crate) fn qdrant_hint(self) -> Option<&'static str> {
        match self {
            Self::Key => Some("put the server's key into the environment variable MOOT_QDRANT_KEY"),
            Self::Missing => Some("the address ends in the collection's name: http://host:6333#name"),
            Self::Broken => {
                Some("does the address lead to a Qdrant server's REST interface, as http://host:6333 does?")
            }
            Self::Unreachable => self.hint(),
            _ => None,
        }
    }

    /// A remedy for the user, if the server is a PostgreSQL database.
    #[must_use]
    pub(crate) fn postgres_hint(self) -> Option<&'static str> {
        match self {
            Self::Key => Some("put the user's password into the environment variable MOOT_POSTGRES_PASSWORD"),
            Self::Missing => Some("the address ends in the table's name: postgres://user@host:5432/database#table"),
            Self::Broken => Some("does the address lead to a PostgreSQL server?"),
            Self::Unreachable => Some("check the address and that the server listens on TCP"),
            _ => None,
        }
    }

    /// Whether the next call would fare no better.
    #[must_use]
    pub fn befalls_all(self) -> bool {
        self != Self::Refused
    }
}
