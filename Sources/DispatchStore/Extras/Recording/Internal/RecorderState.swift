/// The notes of a recorder: dispatches under way, ended ones, and the commits of their stores.
struct RecorderState: Sendable {
  /// A store's run that has ended.
  struct Run: Sendable {
    let storeIdentifier: String
    let outcome: StoreOutcome
    /// In nanoseconds, as the duration.
    let timeQueued: Int64
    let duration: Int64
    /// The store's version at the end.
    let version: UInt64
    /// The action that the store got, if a middleware has replaced it.
    let replacement: (any ActionType)?
  }

  /// A dispatch, or a change outside of any.
  final class Entry: @unchecked Sendable {
    // because the recorder's lock guards it while the dispatch is under way; then the thread that ends the dispatch has
    // it alone, and once it is added it is constant
    /// Nil for a change.
    let dispatch: Noted?
    /// Whether it has a parent, but no block of a store has made it.
    let isOutsideBlocks: Bool
    @exclusivity(unchecked) private(set) var runs = ShortList<Run>()
    /// The number of attempts that are not in the list, by store.
    private(set) var omittedRuns: [String: Int] = [:]
    @exclusivity(unchecked) private(set) var commits = ShortList<TapedCommit>()
    /// The commits that are not in the list, by store: how many, and the versions before and after them.
    private(set) var omitted: [String: (count: Int, versions: (old: UInt64, new: UInt64))] = [:]
    /// The dispatch to whose commits its own ones are added; nil if the stores of that one had ended before.
    fileprivate let parent: DispatchID?
    /// The dispatch for its hooks, which says whether it waits for saving; nil once it has ended.
    fileprivate var session: MiddlewareSession?
    /// The place of its last commit, and of those of dispatches that were made in it and have ended.
    fileprivate var lastPlace = 0
    /// The place of its first commit that is a part of an atomic action's change.
    fileprivate var atomicPlace: Int?
    @exclusivity(unchecked) private(set) var error: (any Error)?
    /// The times of the dispatch; a change has only one.
    @exclusivity(unchecked) private(set) var times = DispatchTimes()
    /// The number of commits of all stores at its end, or at the last of its own ones if it then waited until they were
    /// saved.
    fileprivate(set) var mark = 0
    /// An estimate of its size in bytes, without that of its commits.
    @exclusivity(unchecked) var size = 300

    /// The number of commits, and of runs if stores are retried, that are kept for the entry of one dispatch.
    private static let limit = 100

    init(
      isOutsideBlocks: Bool = false, countingFor parent: DispatchID? = nil,
      session: MiddlewareSession? = nil
    ) {
      dispatch = session.map { Noted($0) }
      (self.isOutsideBlocks, self.parent, self.session) = (isOutsideBlocks, parent, session)
    }

    /// Creates an entry for a change.
    init(_ commit: TapedCommit, at time: Int64) {
      (dispatch, isOutsideBlocks, parent) = (nil, false, nil)
      times.ended = time
      add(commit)
    }

    /// Adds a run; from the limit on, another attempt takes the place of the store's last one, which is returned.
    func add(_ run: consuming Run, isRepeated: Bool) -> Run? {
      guard isRepeated, runs.count >= Self.limit, let index = lastIndex(ofStoreOf: run) else {
        runs.append(run)
        size += 200
        return nil
      }
      let former = runs[index]
      runs[index] = run
      omittedRuns[former.storeIdentifier, default: 0] += 1
      return former
    }

    private func lastIndex(ofStoreOf run: Run) -> Int? {
      runs.lastIndex { $0.storeIdentifier == run.storeIdentifier }
    }

    func add(_ commit: TapedCommit) {
      if commits.count == Self.limit { return omit(commit) }
      commits.append(commit)
      commit.holderCount += 1
    }

    private func omit(_ commit: TapedCommit) {
      let (count, versions) = omitted[commit.identifier] ?? (count: 0, versions: commit.versions)
      omitted[commit.identifier] = (
        count: count + 1,
        versions: (
          old: min(versions.old, commit.versions.old), new: max(versions.new, commit.versions.new)
        )
      )
    }

    /// Takes the commits out of the list, to be released outside of locks.
    fileprivate func takeCommits() -> [TapedCommit] {
      let taken = Array(commits)
      for commit in taken { omit(commit) }
      commits = ShortList()
      return taken
    }

    func noteEnd(at times: DispatchTimes, error: (any Error)?) {
      (self.times, self.error) = (times, error)
    }
  }

  /// The dispatcher, and the time at which the log begins: by its clock, and since 1970, in nanoseconds.
  ///
  /// It begins at a whole millisecond since 1970, because the inspector's page counts from one.
  final class Home: Sendable {
    let dispatcher: DispatcherReference
    let number: UInt64
    let name: String
    /// Reads the time also of changes that come after the dispatcher's release.
    let clock: DispatcherClock
    let start: Int64
    let unix: Int64

    init(_ dispatcher: Dispatcher) {
      self.dispatcher = DispatcherReference(dispatcher: dispatcher)
      (number, name, clock) = (dispatcher.number, dispatcher.name, dispatcher.clock)
      let (now, date) = (dispatcher.clock.nanoseconds, dispatcher.clock.unixNanoseconds)
      let rest = date % 1_000_000
      (start, unix) = (now - rest, date - rest)
    }
  }

  /// The parts of a dispatch that its entry needs; without the dispatcher, which keeps the recorder alive.
  struct Noted: Sendable {
    let id: DispatchID
    let parent: DispatchID?
    let actions: ShortList<any ActionType>
    let isSequence: Bool
    let mode: Dispatcher.Mode
    let callSite: CallSite

    init(_ session: MiddlewareSession) {
      (id, parent, actions) = (session.id, session.parent, session.actions)
      (isSequence, mode, callSite) = (session.isSequence, session.mode, session.callSite)
    }
  }

  private let limit: Int
  private let byteLimit: Int
  /// The estimated size of all entries that have ended, and of all commits.
  private var size = 0
  private(set) var entries: [Entry] = []
  private(set) var droppedCount = 0
  /// The commits of all stores, the oldest first.
  private(set) var commits: [TapedCommit] = []
  private(set) var commitCount = 0
  /// The places among all commits that no state of the stores derives from any longer, after a travel that was kept.
  private var forgotten: [ClosedRange<Int>] = []
  /// The places at which stores are that a travel has set to an earlier state, and the number of commits before it.
  private var places: [Int: (mark: Int, count: Int)] = [:]
  /// The size of the way back, of the commits before a travel: the limits are raised by it until the travel ends.
  private var travelled = (count: 0, bytes: 0)
  /// The stores that a travel has set in its first step, the only ones that it sets; nil without one.
  private(set) var travellers: Set<Int>?
  /// The greatest place of a commit that is no longer kept.
  private var droppedPlace = 0
  private var underWay: [DispatchID: Entry] = [:]
  /// Nil before the first dispatch.
  private(set) var home: Home?
  /// Whether the recorder was unregistered, so that its entries stay as they are.
  var isUnregistered = false

  init(limit: Int, byteLimit: Int?) {
    // Without a limit, an eighth more than it would overflow.
    (self.limit, self.byteLimit) = (min(limit, .max / 2), byteLimit ?? .max)
  }

  /// Whether sizes are estimated.
  var isMeasured: Bool { byteLimit < .max }

  /// Notes the dispatcher, if it is the first; returns the first.
  mutating func begin(at home: Home) -> Home {
    let first = self.home ?? home
    self.home = first
    return first
  }

  /// Notes that a dispatch is under way.
  ///
  /// - Parameter parent: The dispatch for which it counts, unless the stores of that one have ended: then code has made
  ///   it that runs after them, such as a completion.
  mutating func begin(
    _ id: DispatchID, isOutsideBlocks: Bool = false, countingFor parent: DispatchID? = nil,
    session: MiddlewareSession? = nil
  ) {
    let isLate = parent.flatMap { underWay[$0]?.session }?.hasWaitedForSaving == true
    underWay[id] = Entry(
      isOutsideBlocks: isOutsideBlocks, countingFor: isLate ? nil : parent, session: session)
  }

  /// Notes a store's run; returns what is no longer kept.
  mutating func note(_ run: consuming Run, of id: DispatchID, isRepeated: Bool) -> Run? {
    guard let entry = underWay[id] else { return nil }
    return entry.add(run, isRepeated: isRepeated)
  }

  /// Keeps a commit; returns whether it belongs to a dispatch that is under way.
  ///
  /// The commits of an atomic action get one place. A dispatch that ends between two of them then comes after all of them.
  /// The action's stores are locked meanwhile, so no other commit of these stores comes in between.
  mutating func keep(_ commit: TapedCommit) -> Bool {
    commitCount += 1
    commit.place = commitCount
    commits.append(commit)
    commit.holderCount += 1
    guard let id = commit.dispatchID, let entry = underWay[id] else { return false }
    if commit.isTogether {
      commit.place = entry.atomicPlace ?? commitCount
      entry.atomicPlace = commit.place
    }
    entry.lastPlace = max(entry.lastPlace, commit.place)
    entry.add(commit)
    return true
  }

  /// Notes the estimated size of a commit; returns what is no longer kept.
  mutating func noteSize(_ bytes: Int, of commit: TapedCommit) -> Released? {
    if commit.holderCount == 0 { return nil }
    commit.size = bytes
    size += bytes
    return takeExcess()
  }

  /// Notes that a list no longer has a commit.
  private mutating func letGo(_ commit: TapedCommit) {
    commit.holderCount -= 1
    if commit.holderCount == 0 { size -= commit.size }
  }

  private mutating func letGo(_ entry: Entry) {
    size -= entry.size
    for commit in entry.commits { letGo(commit) }
  }

  /// Returns what was noted of a dispatch under way.
  ///
  /// - Parameter session: Of the dispatch, if a program calls the hook for its end alone.
  mutating func takeUnderWay(_ id: DispatchID, session: MiddlewareSession? = nil) -> Entry {
    let entry = underWay.removeValue(forKey: id) ?? Entry(session: session)
    // Otherwise the log would keep the dispatcher alive. The caller has the session, so it is not released here.
    entry.session = nil
    if let parent = entry.parent, let around = underWay[parent] {
      around.lastPlace = max(around.lastPlace, entry.lastPlace)
    }
    return entry
  }

  /// Adds a change outside of any dispatch; returns what is no longer kept.
  mutating func addChange(_ commit: TapedCommit, at time: Int64) -> Released? {
    add(Entry(commit, at: time))
  }

  /// Adds a dispatch that has ended, unless the recorder is unregistered; returns what is no longer kept.
  ///
  /// - Parameter hasWaited: Whether its end has waited until its commits were saved.
  mutating func add(_ entry: Entry, hasWaited: Bool = false) -> Released? {
    entry.mark = hasWaited && entry.lastPlace > 0 ? entry.lastPlace : commitCount
    size += entry.size
    if isUnregistered {
      letGo(entry)
      return Released(entry)
    }
    entries.append(entry)
    return takeExcess()
  }

  /// Removes the oldest entries and commits, an eighth more than there may be at a time.
  mutating func takeExcess() -> Released? {
    let (limit, base) = (self.limit + travelled.count, travelled.bytes)
    let most = limit + limit / 8 + 1
    // An unregistered recorder keeps its entries.
    let entryCount = isUnregistered ? 0 : entries.count
    if entryCount < most, size - base <= byteLimit, commits.count < most { return nil }
    var (count, oldCount) = (max(0, entryCount - limit), max(0, commits.count - limit))
    for entry in entries.prefix(count) { letGo(entry) }
    for commit in commits.prefix(oldCount) { letGo(commit) }
    var ofUnderWay: [TapedCommit] = []
    if isUnregistered, size - base > byteLimit { ofUnderWay = letGoOfCommits(from: &oldCount) }
    if size - base > byteLimit {
      while size - base > byteLimit - byteLimit / 8, count < entries.count {
        let entry = entries[count]
        letGo(entry)
        count += 1
        while oldCount < commits.count, commits[oldCount].place <= entry.mark {
          letGo(commits[oldCount])
          oldCount += 1
        }
      }
    }
    // The commits of dispatches that have no entry are too large by themselves.
    if size - base > byteLimit { ofUnderWay += letGoOfCommits(from: &oldCount) }
    let old = Array(entries.prefix(count))
    entries.removeFirst(count)
    droppedCount += count
    let oldCommits = Array(commits.prefix(oldCount))
    commits.removeFirst(oldCount)
    for commit in oldCommits { droppedPlace = max(droppedPlace, commit.place) }
    forgotten.removeAll { $0.upperBound <= droppedPlace }
    return Released(old, oldCommits + ofUnderWay)
  }

  /// Lets go of all commits from an index on, which it sets to the end; returns those of dispatches under way.
  private mutating func letGoOfCommits(from index: inout Int) -> [TapedCommit] {
    let ofUnderWay = underWay.values.flatMap { $0.takeCommits() }
    for commit in ofUnderWay + commits[index...] { letGo(commit) }
    index = commits.count
    return ofUnderWay
  }

  /// Takes the commits that fit.
  private mutating func takeCommits(_ fits: (TapedCommit) -> Bool) -> [TapedCommit] {
    let taken = commits.filter(fits)
    if !taken.isEmpty { commits.removeAll(where: fits) }
    for commit in taken { letGo(commit) }
    return taken
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
    return !forgotten.contains { $0.contains(mark) } && hasAll(after: mark)
  }

  /// Whether all commits after a place are kept that stores derive from, and can be undone and done again.
  func hasAll(after place: Int) -> Bool {
    place >= droppedPlace && commits.allSatisfy { $0.place <= place || $0.canBeUndone }
  }

  /// The changes that take a store from where it is to a version, in order; nil if they are not known.
  ///
  /// Called in the store's exclusive section, so that the store stays where it is.
  func changes(at index: Int, to version: UInt64) -> [StateDistance]? {
    let (present, count) = places[index] ?? (mark: commitCount, count: commitCount)
    let own = commits.filter { $0.index == index && $0.place <= count }
    let outside = commits.filter { $0.index == index && $0.place > count }
    let changes: [StateDistance]
    if let first = outside.first, let last = outside.last, first.versions.old <= version,
      version <= last.versions.new
    {
      let later = outside.filter { $0.versions.old >= version }
      changes = [StateDistance(commits: later, isBack: true)]
    } else {
      guard present >= droppedPlace, let mark = mark(of: version, in: own) else { return nil }
      changes = [
        StateDistance(commits: outside, isBack: true),
        StateDistance(own, from: present, to: mark),
      ]
    }
    return changes.allSatisfy { $0.commits.allSatisfy(\.canBeUndone) } ? changes : nil
  }

  /// The place of a store's version in the order of all commits; nil if it is not known any longer, or not yet.
  private func mark(of version: UInt64, in own: [TapedCommit]) -> Int? {
    if let commit = own.last(where: { $0.versions.new == version }) { return commit.place }
    return own.first { $0.versions.old == version }.map { $0.place - 1 }
  }

  /// Notes that a travel sets stores to a place, in their exclusive sections; returns how, by their indices.
  ///
  /// All at once, since a store that is not set may commit at any time, and push out what the next one needs.
  ///
  /// - Parameters:
  ///   - present: The place at which stores are.
  ///   - count: The number of commits before the travel.
  /// - Returns: The changes of each store, in order: those made while it was set to an earlier state, to be undone for
  ///   good, and those on its way. Nil if not all changes between the places are known.
  mutating func takeMoves(
    of indices: [Int], from present: Int, to mark: Int, of count: Int
  ) -> [Int: [StateDistance]]? {
    // A store that was away stayed where an earlier travel had set it.
    let first = indices.reduce(min(present, mark)) { min($0, places[$1]?.mark ?? $0) }
    guard hasAll(after: first) else { return nil }
    let members = Set(indices)
    let outside = takeCommits { $0.place > count && members.contains($0.index) }
    if !outside.isEmpty { forget(count + 1...commitCount) }
    let outsideByStore = Dictionary(grouping: outside, by: \.index)
    let byStore = Dictionary(grouping: commits, by: \.index)
    var moves: [Int: [StateDistance]] = [:]
    for index in indices {
      let place = places[index]?.mark ?? count
      places[index] = mark == count ? nil : (mark: mark, count: count)
      moves[index] = [
        StateDistance(commits: outsideByStore[index] ?? [], isBack: true),
        StateDistance(byStore[index] ?? [], from: place, to: mark),
      ]
    }
    if travellers == nil {
      travellers = Set(indices)
      travelled = (max(entries.count, commits.count), size)
    }
    return moves
  }

  /// Ends a travel: stores that it has set, and that have not come back, stay where they are.
  ///
  /// - Parameter present: The indices of the stores that are not gone: the others can't travel to where these were.
  /// - Returns: The identifiers of those that miss changes, and what is to be released.
  mutating func takeUnset(of present: Set<Int>) -> (identifiers: [String], released: Released) {
    let lost = takeCommitsAhead()
    let first = lost.filter { present.contains($0.index) }.map(\.place).min()
    if let first { forget(first...commitCount) }
    return (Set(lost.map(\.identifier)).sorted(), Released(lost))
  }

  /// Ends a travel whose state is kept: forgets the commits between two places, which stores no longer derive from.
  mutating func forgetCommits(after start: Int, upTo end: Int) -> Released {
    let old = takeCommitsAhead()
    let first = old.map(\.place).reduce(start + 1, min)
    if first <= end { forget(first...end) }
    return Released(old)
  }

  /// Forgets where a travel has set stores, which ends it, and takes the commits that these no longer have.
  ///
  /// A store that it has not set, such as one of another dispatcher, still has its own.
  private mutating func takeCommitsAhead() -> [TapedCommit] {
    let places = places
    func isAhead(_ commit: TapedCommit) -> Bool {
      guard let place = places[commit.index] else { return false }
      return place.mark < commit.place && commit.place <= place.count
    }
    (self.places, travellers, travelled) = ([:], nil, (count: 0, bytes: 0))
    return takeCommits(isAhead)
  }

  /// Forgets all commits, since a store has got a model to which they don't lead.
  mutating func forgetAll() -> Released {
    // A new place, because no earlier entry ends with that model.
    commitCount += 1
    droppedPlace = commitCount
    (forgotten, places) = ([], [:])
    return Released(takeCommits { _ in true })
  }

  /// Notes that stores no longer derive from commits at these places.
  private mutating func forget(_ places: ClosedRange<Int>) {
    forgotten.append(places)
    // A new place for the state that stores have now, so that dispatches that commit nothing from here on are at it.
    commitCount += 1
  }
}

extension StateDistance {
  /// The way of a store between two places in the order of all commits, made of the store's own commits.
  init(_ own: [TapedCommit], from start: Int, to end: Int) {
    let between = min(start, end)..<max(start, end)
    self.init(commits: own.filter { between.contains($0.place - 1) }, isBack: end < start)
  }
}
