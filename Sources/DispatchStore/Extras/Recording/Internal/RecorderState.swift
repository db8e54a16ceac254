/// The notes of a recorder: dispatches under way, ended ones, and the commits of their stores.
struct RecorderState: Sendable {
  /// A store's run that has ended.
  struct Run: Sendable {
    let storeIdentifier: String
    let outcome: StoreOutcome
    let timeQueued: Duration
    let duration: Duration
    /// The store's version at the end.
    let version: UInt64
    /// The action that the store got.
    let action: any ActionType
  }

  /// A commit with its place in the order of all commits.
  struct Commit: Sendable {
    let sequence: Int
    let taped: TapedCommit
    /// The store's version before.
    let oldVersion: UInt64
    let storeIdentifier: String
  }

  /// A dispatch under way.
  struct UnderWay: Sendable {
    var runs: [Run] = []
    var commits: [Commit] = []
    /// The commits that are not in the list, by store: how many, and the version after them.
    var omitted: [String: (count: Int, version: UInt64)] = [:]

    /// The number of commits of one dispatch that are kept for its entry.
    static let commitLimit = 100

    mutating func add(_ commit: Commit) {
      if commits.count < Self.commitLimit { return commits.append(commit) }
      let count = omitted[commit.storeIdentifier]?.count ?? 0
      omitted[commit.storeIdentifier] = (count + 1, commit.taped.version)
    }
  }

  /// A dispatch that has ended, or a change outside of any.
  struct Entry: Sendable {
    /// Nil for a change.
    let dispatch: Ended?
    let work: UnderWay
    /// The time of its end, by the dispatcher's clock, in nanoseconds.
    let end: Int64
    /// The number of commits of all stores at its end.
    let mark: Int
    /// An estimate of its size in bytes.
    let size: Int
  }

  /// The parts of an ended dispatch that its entry needs; without the dispatcher, which keeps the recorder alive.
  struct Ended: Sendable {
    let id: DispatchID
    let parent: DispatchID?
    let actions: [any ActionType]
    let isSequence: Bool
    let mode: Dispatcher.Mode
    let callSite: CallSite
    let timeQueued: Duration
    let duration: Duration
    let error: (any Error)?
  }

  /// Entries and commits that are no longer kept, to be released outside of locks.
  final class Released: Sendable {
    private let entries: [Entry]
    private let commits: [Commit]

    init(_ entries: [Entry], _ commits: [Commit]) {
      (self.entries, self.commits) = (entries, commits)
    }
  }

  private let limit: Int
  private let byteLimit: Int
  private var size = 0
  private(set) var entries: [Entry] = []
  private(set) var droppedCount = 0
  /// The commits of all stores, the oldest first.
  private(set) var commits: [Commit] = []
  private(set) var commitCount = 0
  /// The places among all commits that no state of the stores derives from any longer, after a travel that was kept.
  private var forgotten: [ClosedRange<Int>] = []
  private var underWay: [DispatchID: UnderWay] = [:]
  /// The stores that are read, by the index of their tapes, each with its last version.
  private(set) var stores: [Int: (identifier: String, version: UInt64)] = [:]

  init(limit: Int, byteLimit: Int?) {
    // Without a limit, an eighth more than it would overflow.
    (self.limit, self.byteLimit) = (min(limit, .max / 2), byteLimit ?? .max)
  }

  mutating func begin(_ id: DispatchID) { underWay[id] = UnderWay() }

  mutating func note(_ run: Run, of id: DispatchID) { underWay[id]?.runs.append(run) }

  mutating func beginStore(_ index: Int, _ identifier: String, at version: UInt64) {
    stores[index] = (identifier, version)
  }

  /// Notes a commit of the recorder's own, which sets a store to another state.
  mutating func noteRestoration(_ index: Int, to version: UInt64) {
    stores[index]?.version = version
  }

  mutating func endStore(_ index: Int) { stores[index] = nil }

  /// Keeps a commit for its dispatch; returns it if it belongs to none that is under way.
  mutating func keep(_ commit: TapedCommit) -> Commit? {
    commitCount += 1
    let store = stores[commit.index] ?? ("", 0)
    stores[commit.index]?.version = commit.version
    let commit = Commit(
      sequence: commitCount, taped: commit, oldVersion: store.version,
      storeIdentifier: store.identifier)
    commits.append(commit)
    if let id = commit.taped.dispatchID, underWay[id] != nil {
      underWay[id]!.add(commit)
      return nil
    }
    return commit
  }

  /// Returns what was noted of a dispatch under way.
  mutating func takeUnderWay(_ id: DispatchID) -> UnderWay {
    underWay.removeValue(forKey: id) ?? UnderWay()
  }

  /// Adds a dispatch, or a change outside of any; returns what is no longer kept.
  mutating func add(
    _ dispatch: Ended?, _ work: UnderWay, at end: Int64, size: Int
  ) -> Released? {
    entries.append(
      Entry(dispatch: dispatch, work: work, end: end, mark: commitCount, size: size))
    self.size += size
    return takeExcess()
  }

  /// Removes the oldest entries and commits, an eighth more than there may be at a time.
  mutating func takeExcess() -> Released? {
    let most = limit + limit / 8 + 1
    if entries.count < most, size <= byteLimit, commits.count < most { return nil }
    var (count, bytes) = (max(0, entries.count - limit), size)
    for entry in entries.prefix(count) { bytes -= entry.size }
    while bytes > byteLimit - byteLimit / 8, count < entries.count {
      bytes -= entries[count].size
      count += 1
    }
    let old = Array(entries.prefix(count))
    entries.removeFirst(count)
    (size, droppedCount) = (bytes, droppedCount + count)
    var oldCount = max(0, commits.count - limit)
    if byteLimit < .max, let mark = old.last?.mark {
      // The size of an entry is that of its commits.
      oldCount = max(oldCount, commits.prefix { $0.sequence <= mark }.count)
    }
    let oldCommits = Array(commits.prefix(oldCount))
    commits.removeFirst(oldCount)
    if let first = commits.first { forgotten.removeAll { $0.upperBound < first.sequence } }
    return Released(old, oldCommits)
  }

  // MARK: Time travel

  /// The number of commits of all stores when a dispatch had ended.
  func mark(ofEntry id: UInt64) throws(TravelError) -> Int {
    guard let entry = entries.last(where: { $0.dispatch?.id.number == id }) else {
      throw TravelError(.notInLog)
    }
    return entry.mark
  }

  /// Whether all commits after a place are known, and can be undone.
  func canGoBack(to mark: Int) -> Bool {
    if mark >= commitCount { return true }
    if forgotten.contains(where: { $0.contains(mark) }) { return false }
    guard let first = commits.first, first.sequence <= mark + 1 else { return false }
    return commits.allSatisfy { $0.sequence <= mark || $0.taped.change.canBeUndone }
  }

  /// The changes of a store between two places in the order of all commits.
  func changes(at index: Int, from start: Int, to end: Int) -> StateDistance {
    let between = min(start, end)..<max(start, end)
    let own = commits.filter { $0.taped.index == index && between.contains($0.sequence - 1) }
    return StateDistance(changes: own.map(\.taped.change), isBack: end < start)
  }

  /// The changes of a store from where it is to a version; nil if that is not known.
  func changes(at index: Int, to version: UInt64, from travelled: TravelState) -> StateDistance? {
    var present = commitCount
    if case .past(let mark, _) = travelled { present = mark }
    guard let mark = mark(of: version, at: index) else { return nil }
    let distance = changes(at: index, from: present, to: mark)
    return distance.changes.allSatisfy(\.canBeUndone) ? distance : nil
  }

  /// The place of a store's version in the order of all commits; nil if it is not known any longer, or not yet.
  private func mark(of version: UInt64, at index: Int) -> Int? {
    let own = commits.filter { $0.taped.index == index }
    if let commit = own.last(where: { $0.taped.version == version }) { return commit.sequence }
    return own.first { $0.oldVersion == version }.map { $0.sequence - 1 }
  }

  /// Forgets the commits between two places, which stores no longer derive from.
  mutating func forgetCommits(after start: Int, upTo end: Int) -> Released {
    let old = commits.filter { $0.sequence > start && $0.sequence <= end }
    commits.removeAll { $0.sequence > start && $0.sequence <= end }
    if start < end { forgotten.append(start + 1...end) }
    return Released([], old)
  }

  /// Removes the commits of a store that were made while stores were set to an earlier state, and returns how to undo them.
  mutating func takeOutside(_ count: Int, at index: Int) -> StateDistance {
    let outside = commits.filter { $0.taped.index == index && $0.sequence > count }
    if !outside.isEmpty {
      commits.removeAll { $0.taped.index == index && $0.sequence > count }
      forgotten.append(count + 1...commitCount)
    }
    return StateDistance(changes: outside.map(\.taped.change), isBack: true)
  }
}
