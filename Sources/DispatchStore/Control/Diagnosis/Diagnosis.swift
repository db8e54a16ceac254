/// The dispatches in flight at a dispatcher, what each of them waits for, and the deadlocks among them.
///
/// Taken while everything runs, so entries are not from one instant. A deadlock is listed only if a second look finds
/// all its waits again. Waits for semaphores and unstructured tasks can't be seen: those are guesses, marked
/// `isSuspected`.
///
/// Set `tracksInFlight` or a watchdog before. Without one, only calls that wait for a limit are known.
public struct Diagnosis: Sendable {
  /// The dispatcher's name.
  public let dispatcher: String
  /// Whether the dispatcher's queue is suspended.
  public let isSuspended: Bool
  /// Whether the dispatcher has a table of dispatches in flight: `tracksInFlight` is set, or a watchdog.
  ///
  /// Without one, only calls that wait for a limit are known, with their causes.
  package let hasTable: Bool
  /// The number of dispatches and repeating schedules that begin later.
  public internal(set) var scheduledCount = 0
  /// The work of durable effects that is not done, in the order in which it came.
  public internal(set) var pendingEffects: [PendingEffect] = []
  /// The work that has failed for good.
  public internal(set) var deadLetters: [DeadLetter] = []
  /// The effects whose runs go on, in words.
  var effects: [String] = []
  /// The dispatches in flight and the calls that wait to be accepted; longest without a move first.
  public let entries: [Entry]
  /// The waits between entries.
  public let edges: [Edge]
  /// The deadlocks among the edges: one for each set of entries that wait for each other.
  public let cycles: [Cycle]
}

extension Diagnosis {
  /// A dispatch in flight, or a call that waits to be accepted.
  public struct Entry: Sendable {
    /// The number by which edges and texts refer to the entry, from 1 on.
    public let number: Int
    /// The dispatch; nil for a call that waits to be accepted.
    public let id: DispatchID?
    /// The dispatch from inside which it was dispatched, if that is known.
    public let parent: DispatchID?
    /// The actions as dispatched; empty if the dispatch is in no table.
    public let actions: [AnyAction]
    /// The names that the dispatch got by `.named(_:)`.
    public let names: [String]
    /// The mode that schedules the dispatch; nil if it is in no table.
    public let mode: Dispatcher.Mode?
    /// The call site of the dispatch.
    public let callSite: CallSite
    /// The time in flight, by the dispatcher's clock; nil if the dispatch is in no table.
    public let age: Duration?
    /// The time without a move: no store, no attempt, no action of a sequence has begun or ended.
    ///
    /// Measured as `age`.
    public let timeUnmoved: Duration?
    /// Whether the dispatch has not started.
    package let isWaiting: Bool
    /// The running parts and the waits, in words.
    public let states: [String]
    /// Whether the entry needs the queue, or a thread of it, and nothing else that is known.
    let waitsForQueue: Bool
    /// Whether the entry waits for nothing but time: for a token of a rate limit, say, or since it is delayed.
    let waitsForTime: Bool
  }

  /// A wait of an entry for another one.
  public struct Edge: Sendable, Hashable {
    /// The kinds of waits.
    package enum Kind: Int, Sendable {
      /// The entry waits for its turn in a lane, behind the holder, or behind a dispatch that is held back itself.
      case lane
      /// The entry was dispatched to run after the other one.
      case after
      /// The entry's code waits for the other one, or is its `.sync` caller.
      case awaits
      /// The entry is a sequence, and the other one is its present action.
      case action
      /// An operation of the entry depends on one of the other's.
      case dependency
      /// The other entry has something that this one needs: a unit of a limit, or anything else that holds dispatches
      /// back.
      case holdsBack
      /// Suspected: a block of the entry has run for long, and may wait for the other one.
      case mayWait
    }

    /// The number of the waiting entry.
    public let from: Int
    /// The number of the awaited entry.
    public let to: Int
    /// The kind of the wait.
    package let kind: Kind
    /// The kind of the wait in words, to be read between the two entries: "awaits", or "is queued in lane "ann" behind".
    public let label: String

    /// Whether the wait is suspected, not known: a block of the entry has run for long, and may wait for the other one.
    public var isSuspected: Bool { kind == .mayWait }
  }

  /// A deadlock: entries that wait for each other.
  public struct Cycle: Sendable, Hashable {
    /// The waits in order: each begins at the entry at which the previous one ends.
    public let edges: [Edge]

    /// Whether one of the waits is suspected, so that the deadlock is probable, not certain.
    public var isProbable: Bool { edges.contains(where: \.isSuspected) }
  }

  /// The entry with a number.
  package func entry(_ number: Int) -> Entry { entries[number - 1] }
}
