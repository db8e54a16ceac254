/// The runs of an effect that follows actions, by key.
///
/// Keys are not compared here, since their code is the program's. Callers look up their line among those of a hash,
/// outside the lock. They come back with the lines that they have found, unless lines have come or gone meanwhile.
struct EffectLines<Run: AnyObject> {
  typealias LineID = UInt64

  /// The lines of one hash, at one time.
  struct Found {
    let lines: [(key: TypedKey?, id: LineID)]
    fileprivate let version: UInt64
  }

  private(set) var isOpen = true
  private var lines: [LineID: EffectLine<Run>] = [:]
  private var ids: [Int: [(key: TypedKey?, id: LineID)]] = [:]
  private var last: LineID = 0
  /// The number of times that a line has come or gone.
  private var version: UInt64 = 0

  var runCount: Int { lines.values.reduce(0) { $0 + $1.runCount } }

  func find(_ key: TypedKey?) -> Found {
    Found(lines: ids[key?.hash ?? 0] ?? [], version: version)
  }

  /// Adds a run to the line of its key.
  ///
  /// - Parameters:
  ///   - bound: The number of runs of the line that go on at once, at most.
  ///   - id: The found line of the key, if there is one.
  /// - Returns: The treatment of the run, and its line; nil if the caller must look again.
  mutating func arrive(
    _ run: Run, _ key: TypedKey?, _ policy: EffectPolicy, bound: Int = .max, at id: LineID?,
    of found: Found
  ) -> (EffectLine<Run>.Arrival, LineID)? {
    guard isOpen else { return (.skip, 0) }
    guard version == found.version || isPlanted(.overlappingEffects) else { return nil }
    if let id { return (lines[id]!.arrive(run, policy), id) }
    var line = EffectLine<Run>(bound: bound)
    let arrival = line.arrive(run, policy)
    last += 1
    version += 1
    lines[last] = line
    ids[key?.hash ?? 0, default: []].append((key, last))
    return (arrival, last)
  }

  /// Removes an ended run from its line.
  ///
  /// Returns the one that is to begin.
  mutating func ended(_ run: Run, _ key: TypedKey?, at id: LineID) -> Run? {
    guard let next = lines[id]?.ended(run) else {
      if lines[id]?.isEmpty == true { remove(id, key) }
      return nil
    }
    return next
  }

  private mutating func remove(_ id: LineID, _ key: TypedKey?) {
    let hash = key?.hash ?? 0
    lines[id] = nil
    ids[hash]?.removeAll { $0.id == id }
    if ids[hash]?.isEmpty == true { ids[hash] = nil }
    version += 1
  }

  /// Lets a running run pause; returns the one that is to begin.
  mutating func pause(_ run: Run, at id: LineID) -> Run? { lines[id]?.pause(run) }

  /// Ends the pause of a run; returns whether it begins.
  mutating func endPause(_ run: Run, at id: LineID) -> Bool { lines[id]?.endPause(run) ?? false }

  /// Takes the runs that wait or pause, which do not begin, and returns them, with the running ones after them.
  mutating func takeAll() -> [Run] {
    takeWaiting() + takePausing() + lines.keys.sorted().flatMap { lines[$0]!.runs }
  }

  /// Takes the runs that wait for their turns, which do not begin.
  mutating func takeWaiting() -> [Run] { lines.keys.sorted().flatMap { lines[$0]!.takeWaiting() } }

  /// Takes the runs that pause, which do not begin again.
  mutating func takePausing() -> [Run] { lines.keys.sorted().flatMap { lines[$0]!.takePausing() } }

  /// Accepts no further run; false if that was so before.
  mutating func close() -> Bool {
    defer { isOpen = false }
    return isOpen
  }
}

/// The runs of a long-lived effect: one at a time.
struct LongLivedRun<Run: AnyObject> {
  private enum Phase {
    /// Can become running or closed.
    case idle
    /// Can become idle, running with another run, or closed.
    case running(Run, isToRestart: Bool)
    /// Unregistered, or the dispatcher is closed; with the run that has not ended.
    case closed(Run?)
  }

  private var phase = Phase.idle

  var runCount: Int {
    switch phase {
    case .running, .closed(.some): 1
    case .idle, .closed(nil): 0
    }
  }

  enum Restart {
    /// The new run begins.
    case begin
    /// The present run is cancelled; another one begins once it has ended.
    case cancel(Run)
    case none
  }

  /// - Parameter new: The run that begins if none goes on.
  mutating func restart(_ new: Run) -> Restart {
    switch phase {
    case .idle:
      phase = .running(new, isToRestart: false)
      return .begin
    case .running(let run, _):
      phase = .running(run, isToRestart: true)
      return .cancel(run)
    case .closed:
      return .none
    }
  }

  /// Removes an ended run.
  ///
  /// Returns whether another one is to begin.
  mutating func ended(_ run: Run) -> Bool {
    switch phase {
    case .running(let present, let isToRestart) where present === run:
      phase = .idle
      return isToRestart
    case .closed(let present?) where present === run:
      phase = .closed(nil)
      return false
    case .idle, .running, .closed:
      return false
    }
  }

  /// The run to be cancelled.
  mutating func cancel() -> Run? {
    guard case .running(let run, _) = phase else { return nil }
    phase = .running(run, isToRestart: false)
    return run
  }

  /// Accepts no further run.
  ///
  /// Returns the run to be cancelled, and whether the effect was open.
  mutating func close() -> (Run?, wasOpen: Bool) {
    switch phase {
    case .idle:
      phase = .closed(nil)
      return (nil, true)
    case .running(let run, _):
      phase = .closed(run)
      return (run, true)
    case .closed:
      return (nil, false)
    }
  }
}
