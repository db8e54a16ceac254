/// What is in flight at a dispatcher, what it waits for, and which of it waits in a ring.
///
/// It is taken while everything goes on: each entry is as it was at an instant of its own. A ring is listed only where
/// each of its waits was still there when it was looked at again, so that all were there at one time.
///
/// What the library can't see (a block that waits for a semaphore, or for an unstructured task) it suspects: such an
/// edge is of the kind `mayWait`, and a ring with one is probable, not certain.
public struct Diagnosis: Sendable {
  /// The dispatcher's name.
  public let dispatcher: String
  /// Whether the dispatcher's queue is suspended.
  public let isSuspended: Bool
  /// Whether the dispatcher has a table of what is in flight: an `InFlightDispatches`, or a `Watchdog`.
  ///
  /// Without one only calls that wait for a limit are known, and what they wait for.
  public let hasTable: Bool
  /// What is in flight, and what waits to be accepted; what has not moved for the longest time first.
  public let entries: [Entry]
  /// What waits for what.
  public let edges: [Edge]
  /// Rings among the edges: one for each set of entries that wait for each other.
  public let cycles: [Cycle]
}

extension Diagnosis {
  /// A dispatch in flight, or a call that waits to be accepted.
  public struct Entry: Sendable {
    /// By which edges and texts refer to it: from 1 on.
    public let number: Int
    /// The transaction; nil for a call that waits to be accepted.
    public let id: TransactionID?
    /// The transaction from inside which it was dispatched, where that is known.
    public let parent: TransactionID?
    /// The actions as dispatched; none where it is in no table.
    public let actions: [AnyAction]
    /// How it is scheduled; nil where it is in no table.
    public let mode: Dispatcher.Mode?
    /// Where it was dispatched.
    public let callSite: CallSite
    /// For how long it is in flight, by the dispatcher's clock; nil where it is in no table.
    public let age: Duration?
    /// For how long nothing of it has begun or ended: no store, no attempt, no action of a sequence; as `age`.
    public let timeUnmoved: Duration?
    /// Until its time limit; nil without one.
    public let timeLeft: Duration?
    /// Whether it has not started.
    public let isWaiting: Bool
    /// How many closures, threads and tasks wait for its end.
    public let waiterCount: Int
    /// What of it runs, and what it waits for, in words.
    public let states: [String]
    /// Whether it needs the queue, or a thread of it, and nothing else that is known.
    let waitsForQueue: Bool
  }

  /// An entry waits for another one.
  public struct Edge: Sendable, Hashable {
    /// Why it waits; later versions may add cases.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
      /// For its turn in a lane, behind the one that has it, or behind one that is held back itself.
      case lane
      /// It was dispatched to run after the other one.
      case after
      /// Its code waits for the other one, or is its `.sync` caller.
      case awaits
      /// It is a sequence, and the other one is its present action.
      case action
      /// One of its operations depends on one of the other's.
      case dependency
      /// The other one has what it waits for: a unit of a limit, or what else holds dispatches back.
      case holdsBack
      /// Suspected: a block of it has run for long, and may wait for the other one.
      case mayWait
    }

    /// The number of the entry that waits.
    public let from: Int
    /// The number of the one that it waits for.
    public let to: Int
    /// Why.
    public let kind: Kind
    /// The same in words, to be read between the two.
    public let label: String

    /// Whether it is suspected, not known.
    public var isSuspected: Bool { kind == .mayWait }
  }

  /// Entries that wait for each other in a ring.
  public struct Cycle: Sendable, Hashable {
    /// The waits in the order of the ring: each begins where the one before ends.
    public let edges: [Edge]

    /// The numbers of its entries, in that order.
    public var entries: [Int] { edges.map(\.from) }

    /// Whether one of its waits is suspected.
    public var isProbable: Bool { edges.contains(where: \.isSuspected) }
  }

  /// The entry with that number.
  public func entry(_ number: Int) -> Entry { entries[number - 1] }
}
