public import Observation

/// A store can be tracked: by `withObservationTracking`, by `Observations`, by the views of SwiftUI.
///
/// Code that is tracked there and reads `model`, `version` or `withModel` is notified of the store's next change, or of
/// one that came while the tracking was set up: none after the read is missed. No declaration is needed, and
/// every read of a store, also by a child, is of the whole store: to be notified of a part alone, observe that.
///
///     withObservationTracking {
///       show(cart.model.total)
///     } onChange: {
///       …
///     }
///
/// `onChange` is called after the commit, where the new model can be read, as an inline observer: on the thread
/// that committed or by the store's notifier, in the delivery turn, so that a store makes one call at a time, and
/// never under a lock. For a change that came while the tracking was set up it is called on a thread of the
/// library. Where `shouldNotifyObservers(for:in:)` is false, it is not called. A read that races with a commit may
/// be followed by a call for a change that it has already seen. The toolchain may notify a tracking twice: one of
/// several stores that change at the same time, on different threads, or one that it is setting up while two
/// changes come.
///
/// A read of a store costs a few nanoseconds for finding out whether it is tracked, a tracked one some
/// microseconds. A store is observed only from a tracked read to the change after it; a store that tracked code
/// never reads has no registrar, and its commits cost nothing more.
extension Store: Observable {}
