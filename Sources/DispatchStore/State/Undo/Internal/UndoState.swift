/// The steps of an undo history: those that can be undone, and those that can be done again.
///
/// A step is the commits in a row with the same number, those of each store in their order.
struct UndoState {
  /// The changes of an undo or a redo.
  struct Move {
    /// The changes that observers have made during earlier ones, to be taken back first.
    fileprivate let aside: [TapedCommit]
    fileprivate let step: [TapedCommit]
    fileprivate let isBack: Bool

    /// The changes of a store, in order.
    subscript(index: Int) -> [StateDistance] {
      [
        StateDistance(commits: aside.filter { $0.index == index }, isBack: true),
        StateDistance(commits: step.filter { $0.index == index }, isBack: isBack),
      ]
    }
  }

  private let limit: Int
  /// The longest time between two commits of a step that have the same key, in nanoseconds.
  private let interval: Int64
  /// The commits of the steps that can be undone, the oldest first; the numbers of their steps have no gaps.
  private(set) var past: [TapedCommit] = []
  /// The commits of the steps that can be done again, the next step last.
  private(set) var future: [TapedCommit] = []
  /// Whether the history has gone: it undoes nothing any longer.
  private var isClosed = false
  /// Whether the last step is the latest change, so that one with its key may join it.
  private var isLastStepOpen = false
  /// The dispatches of the last undos and redos.
  private var restorations = ShortList<DispatchID>()
  /// The changes that observers have made during these, until the next undo, redo or step takes them.
  private var aside: [TapedCommit] = []
  /// The last dispatches with a commit that can't be undone: their other commits are in no step either.
  private var unfit = ShortList<DispatchID>()
  /// The number of steps among which that of a dispatch is looked for: others may have come between its commits.
  private static let reach = 64

  init(limit: Int, interval: Int64) {
    // Without a limit, an eighth more than it would overflow.
    (self.limit, self.interval) = (min(limit, .max / 2), interval)
  }

  /// Adds a commit: to the step of its dispatch, to the last step if that has its key, or as a step of its own.
  ///
  /// A commit that can't be undone ends the history before it, and so does each later one of its dispatch. One that an
  /// observer makes in an undo is put aside.
  mutating func add(_ commit: TapedCommit) -> Released? {
    let isFit = commit.canBeUndone && commit.dispatchID.map { unfit.contains($0) } != true
    if isFit, let id = commit.dispatchID, restorations.contains(id) {
      (commit.key, commit.time) = (nil, 0)
      return Released(aside.add(commit, to: 0))
    }
    defer { isLastStepOpen = true }
    var released: [TapedCommit] = []
    if !future.isEmpty, !isPlanted(.keptFuture) { swap(&released, &future) }
    let begun = beginStepWithAside()
    if !isFit {
      unfit.note(commit.dispatchID)
      released += past
      released.append(commit)
      past = []
    } else if let number = step(of: commit) ?? begun ?? lastStep(for: commit) {
      released += past.add(commit, to: number)
    } else {
      commit.place = nextNumber
      past.append(commit)
    }
    if let excess = takeExcess() { released += excess }
    return released.isEmpty ? nil : Released(released)
  }

  private var nextNumber: Int { past.last.map { $0.place + 1 } ?? 0 }

  /// Makes what observers have changed the beginning of the next step.
  private mutating func beginStepWithAside() -> Int? {
    if aside.isEmpty { return nil }
    let number = nextNumber
    for commit in aside { commit.place = number }
    past += aside
    aside = []
    return number
  }

  /// The step of the commit's dispatch, unless a later step has changed the store: then the order would be lost.
  private func step(of commit: TapedCommit) -> Int? {
    guard let id = commit.dispatchID, let last = past.last else { return nil }
    var changed = last.place - Self.reach
    for present in past.reversed() {
      if present.place <= changed, !isPlanted(.joinedOutOfOrder) { return nil }
      if present.dispatchIDs.contains(id) { return present.place }
      if present.index == commit.index { changed = present.place - 1 }
    }
    return nil
  }

  private func lastStep(for commit: TapedCommit) -> Int? {
    guard isLastStepOpen, let key = commit.key, let last = past.last, last.key == key,
      commit.time - last.time <= interval
    else {
      return nil
    }
    return last.place
  }

  /// Removes the oldest steps; an eighth more than there may be at a time, so that it takes constant time on average.
  private mutating func takeExcess() -> [TapedCommit]? {
    guard let last = past.last?.place, last - past[0].place >= limit + limit / 8 else { return nil }
    let excess = Array(past.prefix { $0.place <= last - limit })
    past.removeFirst(excess.count)
    return excess
  }

  /// Moves the last step to those that can be done again.
  mutating func undo(by id: DispatchID?) -> Move? {
    guard !isClosed, let step = past.popStep() else { return nil }
    future += step
    return move(step, isBack: true, by: id)
  }

  /// Moves the step that was undone last back.
  mutating func redo(by id: DispatchID?) -> Move? {
    guard !isClosed, let step = future.popStep() else { return nil }
    past += step
    return move(step, isBack: false, by: id)
  }

  private mutating func move(_ step: [TapedCommit], isBack: Bool, by id: DispatchID?) -> Move {
    isLastStepOpen = false
    restorations.note(id)
    defer { aside = [] }
    return Move(aside: aside, step: step, isBack: isBack)
  }

  /// Ends undo and redo.
  ///
  /// The steps are released with the state, since the history may be released in a reducer.
  mutating func close() { isClosed = true }

  mutating func removeAll() -> Released {
    defer { (past, future, aside) = ([], [], []) }
    return Released(past, future, aside)
  }
}

extension [TapedCommit] {
  /// Adds a commit to the end of a step, merged with those of its store that as many were merged into.
  ///
  /// So each is merged a logarithmic number of times, and the step has a logarithmic number of them. The step's last commit
  /// has its key, and the time of the latest one: a commit to a store without an action, such as that of a block to
  /// another store, has neither. Returns the commits that have become a part of others.
  mutating func add(_ commit: TapedCommit, to step: Int) -> [TapedCommit] {
    if let last = last(where: { $0.place <= step }), last.place == step {
      (commit.key, commit.time) = (last.key ?? commit.key, Swift.max(last.time, commit.time))
    }
    var (added, merged) = (commit, [TapedCommit]())
    while let index = lastIndex(where: {
      $0.place < step || $0.place == step && $0.index == commit.index
    }), self[index].place == step, self[index].mergedCount <= added.mergedCount {
      let former = remove(at: index)
      merged += [former, added]
      added = former.merged(with: added)
    }
    (added.place, added.key, added.time) = (step, commit.key, commit.time)
    insert(added, at: (lastIndex { $0.place <= step } ?? -1) + 1)
    return merged
  }

  /// Removes the last step.
  fileprivate mutating func popStep() -> [TapedCommit]? {
    guard let last else { return nil }
    let start = (lastIndex { $0.place != last.place } ?? -1) + 1
    defer { removeSubrange(start...) }
    return Array(self[start...])
  }
}

extension ShortList<DispatchID> {
  /// The number of dispatches that are known; seldom are more of one key under way at a time.
  private static var limit: Int { 16 }

  /// Notes a dispatch as the last one.
  mutating func note(_ id: DispatchID?) {
    guard let id, !contains(id) else { return }
    if count == Self.limit { _ = remove(at: 0) }
    append(id)
  }
}
