/// What knows why a dispatch, or a call that is not a dispatch yet, does not go on: the seam by which what holds back
/// dispatches (a limit, a gate, a delay) explains its waits to a diagnosis.
///
/// It is added to the dispatcher's `PendingWaits` where the wait begins, and removed where it ends.
protocol WaitDescribing: AnyObject, Sendable {
  /// What waits.
  var subject: WaitSubject { get }

  /// Why, now; called with no lock held, on any thread.
  func describeWait() -> WaitDescription
}

/// What a wait holds back.
enum WaitSubject {
  /// A dispatch, at its place or before it.
  case dispatch(Dispatch)
  /// A call that has not become a dispatch.
  case call(PendingCall)
}

/// A call of `dispatch` or `send` that waits before it is accepted.
struct PendingCall {
  let callSite: CallSite
  /// The dispatch that goes on only after the call, if there is one.
  var caller: Dispatch?
  /// By the dispatcher's clock, in nanoseconds.
  let began: Int64
}

/// Why something waits.
struct WaitDescription {
  /// To be read after "waits for ".
  let text: String
  /// What identifies the waits that end first in, first out: all but the oldest of them wait for that.
  var queue: ObjectIdentifier?
  /// The dispatches, in flight, that it waits for; called with no lock held, for the oldest of a queue only.
  var awaited: () -> [Dispatch] = { [] }
}

/// The waits of a dispatcher's dispatches and calls that know why they are.
final class PendingWaits: DispatcherAttachment {
  private let waits = Locked<[ObjectIdentifier: any WaitDescribing]>([:])

  func add(_ wait: any WaitDescribing) {
    waits.withLock { $0[ObjectIdentifier(wait)] = wait }
  }

  func remove(_ wait: any WaitDescribing) {
    let removed = waits.withLock { $0.removeValue(forKey: ObjectIdentifier(wait)) }
    withExtendedLifetime(removed) {}
  }

  var all: [any WaitDescribing] { waits.withLock { Array($0.values) } }
}

extension Dispatcher {
  /// What waits, and knows why; made where there is none.
  var pendingWaits: PendingWaits { attachment(orAdd: PendingWaits()) }
}
