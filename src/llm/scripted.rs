//! Replies written beforehand: the model of the transcript tests.
