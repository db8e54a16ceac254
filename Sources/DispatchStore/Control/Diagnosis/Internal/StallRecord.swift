/// A dispatch as a watchdog sees it, with the time of its last move.
struct Stall: Hashable {
  let id: DispatchID
  let moved: Int64
}

extension Stall {
  init(_ trace: InFlightTrace) { self.init(id: trace.id, moved: trace.moved) }
}

/// The stalls that a watchdog has reported, without threads and without a clock.
///
/// Among dispatches that wait for each other, the root stands for all: it has not moved for the longest time.
struct StallRecord {
  private struct Note {
    /// The time of the dispatch's last move; after another move the note is void.
    let moved: Int64
    /// The time without a move after which the dispatch is looked at again.
    var threshold: Int64
    var reason: Reason
  }

  private enum Reason {
    /// The dispatch was reported.
    case root
    /// The dispatch waited for a root, or for a dispatch that moved.
    case waits
    /// The dispatch may be about to go on: the one that it waited for has ended.
    case looksFree
  }

  private var notes: [DispatchID: Note] = [:]

  /// The dispatches that have not moved for their thresholds, oldest move first, and the time at which the next one
  /// is due.
  ///
  /// Forgets dispatches that are no longer in flight.
  mutating func due(
    _ inFlight: [Stall], at now: Int64, limit: Int64
  ) -> (due: [Stall], next: Int64) {
    var due: [Stall] = []
    var next = Int64.max
    var kept: [DispatchID: Note] = [:]
    for stall in inFlight {
      var threshold = limit
      if let note = notes[stall.id], note.moved == stall.moved {
        kept[stall.id] = note
        threshold = note.threshold
      }
      let time = stall.moved.addingClamped(threshold)
      if time <= now { due.append(stall) } else { next = min(next, time) }
    }
    notes = kept
    return (due.sorted { ($0.moved, $0.id) < ($1.moved, $1.id) }, next)
  }

  /// Whether a diagnosis is reported because of due dispatches.
  ///
  /// Two kinds cause a report: a root whose threshold has come again, and a dispatch that waits neither for a root
  /// nor for a moving one.
  mutating func note(
    _ due: [Stall], in diagnosis: Diagnosis, at now: Int64, limit: Int64
  ) -> Bool {
    var search = StallSearch(diagnosis, limit: .nanoseconds(limit))
    let isDue = Set(due.map(\.id))
    for (id, note) in notes where note.reason == .root && !isDue.contains(id) {
      search.addRoot(id)
    }
    var isReported = false
    for stall in due {
      let former = notes[stall.id].flatMap { $0.moved == stall.moved ? $0 : nil }
      // The dispatch may have ended, or moved, since it was found due.
      guard former?.reason == .root || search.knows(stall.id) else { continue }
      let age = now - stall.moved
      var note = Note(moved: stall.moved, threshold: age.addingClamped(limit), reason: .waits)
      if former?.reason == .root || !search.waits(stall.id) {
        switch former?.reason {
        case .waits:
          note.reason = .looksFree
          search.addMoving(stall.id)
        case nil where search.isAboutToStart(stall.id):
          note.reason = .looksFree
          note.threshold = age.addingClamped(limit / 8)
          search.addMoving(stall.id)
        case .root, .looksFree, nil:
          isReported = true
          search.addRoot(stall.id)
          note.reason = .root
          note.threshold = former?.reason == .root ? former!.threshold : limit
          while note.threshold <= age, note.threshold < .max / 2 { note.threshold *= 2 }
        }
      }
      notes[stall.id] = note
    }
    return isReported
  }
}

/// The entries of a diagnosis that wait for a root, and those that wait for a moving dispatch.
private struct StallSearch {
  private let diagnosis: Diagnosis
  private var numbers: [DispatchID: Int] = [:]
  /// The waiting entries, by the number of the entry that they wait for.
  private var waiters: [[Int]]
  /// The entries with a known wait.
  private let waiting: Set<Int>
  private var reachingRoots: Set<Int> = []
  /// The entries that wait for a moving dispatch or for time, or for another such entry.
  private var reachingMoving: Set<Int> = []
  private var holdsUpQueue = false
  private var queueMoves = false

  /// - Parameter limit: The time within which a move counts: a dispatch that has moved since then still moves.
  init(_ diagnosis: Diagnosis, limit: Duration) {
    self.diagnosis = diagnosis
    waiters = Array(repeating: [], count: diagnosis.entries.count + 1)
    waiting = Set(diagnosis.edges.map(\.from))
    for entry in diagnosis.entries { if let id = entry.id { numbers[id] = entry.number } }
    for edge in diagnosis.edges where !edge.isSuspected { waiters[edge.to].append(edge.from) }
    let moving = diagnosis.entries.filter { entry in
      !entry.isWaiting && entry.timeUnmoved.map { $0 < limit } == true
    }
    let timed = diagnosis.entries.filter(\.waitsForTime).map(\.number)
    reachingMoving = Set(timed)
    add(waitersOf: moving.map(\.number) + timed, to: \.reachingMoving)
    queueMoves = !diagnosis.isSuspended && moving.contains { $0.isOnQueue }
  }

  func knows(_ id: DispatchID) -> Bool { numbers[id] != nil }

  /// Adds a root: all entries that wait for it reach a root from now on.
  mutating func addRoot(_ id: DispatchID) {
    guard let root = numbers[id] else { return }
    if diagnosis.entry(root).isOnQueue { holdsUpQueue = true }
    add(waitersOf: [root], to: \.reachingRoots)
  }

  /// Adds a dispatch that may move right now: all entries that wait for it reach a moving one from now on.
  mutating func addMoving(_ id: DispatchID) {
    if let number = numbers[id] { add(waitersOf: [number], to: \.reachingMoving) }
  }

  private mutating func add(
    waitersOf numbers: [Int], to reaching: WritableKeyPath<StallSearch, Set<Int>>
  ) {
    var path = numbers
    while let number = path.popLast() {
      for waiter in waiters[number] where self[keyPath: reaching].insert(waiter).inserted {
        path.append(waiter)
      }
    }
  }

  /// Whether the dispatch waits for a root, for a moving one or for time.
  ///
  /// A dispatch that waits for the queue waits for any dispatch there.
  func waits(_ id: DispatchID) -> Bool {
    guard let number = numbers[id] else { return false }
    return reachingRoots.contains(number) || reachingMoving.contains(number)
      || (holdsUpQueue || queueMoves) && diagnosis.entry(number).waitsForQueue
  }

  /// Whether the dispatch has no known wait, and nothing keeps the queue from starting it.
  func isAboutToStart(_ id: DispatchID) -> Bool {
    guard let number = numbers[id], diagnosis.entry(number).isWaiting else { return false }
    let isHeldBack = diagnosis.isSuspended && diagnosis.entry(number).waitsForQueue
    return !isHeldBack && !waiting.contains(number)
  }
}

extension Diagnosis.Entry {
  /// Whether the entry needs the concurrent queue, or has a lane on it.
  fileprivate var isOnQueue: Bool {
    waitsForQueue || mode?.isSync == false && mode?.isMainThread == false
  }
}
