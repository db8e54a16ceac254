/// The runs of an effect, by key; those of a long-lived effect have one line.
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
  /// Whether a pause of the dispatcher has refused a run of a long-lived effect, which begins when that ends.
  var awaitsEndOfPause = false
  private var lines: [LineID: EffectLine<Run>] = [:]
  private var ids: [Int: [(key: TypedKey?, id: LineID)]] = [:]
  private var last: LineID = 0
  /// The number of times that a line has come or gone.
  private var version: UInt64 = 0

  var runCount: Int { lines.values.reduce(0) { $0 + $1.runCount } }

  /// The runs that have a turn or pause, in no order.
  var begunRuns: [Run] { lines.values.flatMap(\.begunRuns) }

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

  /// Lets a run of a long-lived effect begin once no other one runs, instead of those that wait or pause.
  ///
  /// - Returns: The treatment of the run, its line, and the runs to be cancelled.
  mutating func restart(_ run: Run) -> (EffectLine<Run>.Arrival, LineID, former: [Run]) {
    let (former, found) = (takeAll(), find(nil))
    // Nothing can have come or gone since it was found.
    let (arrival, id) = arrive(run, nil, .serial, bound: 1, at: found.lines.first?.id, of: found)!
    return (arrival, id, former)
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
    awaitsEndOfPause = false
    return takeWaiting() + takePausing() + lines.keys.sorted().flatMap { lines[$0]!.runs }
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
