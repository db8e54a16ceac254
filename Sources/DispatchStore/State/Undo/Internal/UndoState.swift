/// The steps of an undo history: those that can be undone, and those that can be done again.
struct UndoState {
  /// The changes that are undone together.
  struct Step {
    /// The commits, those of each store in their order.
    var commits: ShortList<TapedCommit>
    /// The dispatches of its last commits.
    private(set) var dispatchIDs = ShortList<DispatchID>()
    var key: TypedKey?
    /// The time of the last commit, in nanoseconds; zero without a key.
    var time: Int64

    init(_ commit: TapedCommit, key: TypedKey?, time: Int64) {
      (commits, self.key, self.time) = (ShortList(commit), key, time)
      dispatchIDs.note(commit.dispatchID)
    }

    /// Adds a commit of a dispatch that has one in the step, or with the step's key.
    ///
    /// A commit to a store without an action, such as that of a block to another store, has neither key nor time.
    /// Returns the commits that have become a part of others.
    mutating func join(_ commit: TapedCommit, key: TypedKey?, time: Int64) -> [TapedCommit] {
      dispatchIDs.note(commit.dispatchID)
      self.key = self.key ?? key
      self.time = max(self.time, time)
      return add(commit)
    }

    /// The commits of a store, the oldest first.
    subscript(index: Int) -> [TapedCommit] { commits.filter { $0.index == index } }

    func hasChanged(_ index: Int) -> Bool { commits.contains { $0.index == index } }

    /// Adds a commit, merged with those of its store that as many were merged into.
    ///
    /// So each is merged a logarithmic number of times, and the step has a logarithmic number of them. Returns the merged
    /// ones.
    mutating func add(_ commit: TapedCommit) -> [TapedCommit] {
      var (commit, merged) = (commit, [TapedCommit]())
      while let place = commits.lastIndex(where: { $0.index == commit.index }),
        commits[place].mergedCount <= commit.mergedCount
      {
        let former = commits.remove(at: place)
        merged += [former, commit]
        commit = former.merged(with: commit)
      }
      commits.append(commit)
      return merged
    }
  }

  /// The changes of an undo or a redo.
  struct Move {
    /// The changes that observers have made during earlier ones, to be taken back first.
    fileprivate let aside: Step?
    fileprivate let step: Step
    fileprivate let isBack: Bool

    /// The changes of a store, in order.
    subscript(index: Int) -> [StateDistance] {
      [
        StateDistance(commits: aside?[index] ?? [], isBack: true),
        StateDistance(commits: step[index], isBack: isBack),
      ]
    }
  }

  private let limit: Int
  /// The longest time between two commits of a step that have the same key, in nanoseconds.
  private let interval: Int64
  private(set) var past: [Step] = []
  private(set) var future: [Step] = []
  /// Whether the history is released: then its tapes miss commits, and no step may be undone any longer.
  private var isClosed = false
  /// Whether the last step is the latest change, so that one with its key may join it.
  private var isLastStepOpen = false
  /// The dispatches of the last undos and redos.
  private var restorations = ShortList<DispatchID>()
  /// The changes that observers have made during these, until the next undo, redo or step takes them.
  private var aside: Step?
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
  mutating func add(_ commit: TapedCommit, key: TypedKey?, time: Int64) -> Released? {
    let isFit = commit.canBeUndone && commit.dispatchID.map { unfit.contains($0) } != true
    if isFit, let id = commit.dispatchID, restorations.contains(id) {
      let merged = aside?.join(commit, key: nil, time: 0)
      if merged == nil { aside = Step(commit, key: nil, time: 0) }
      return merged.map { Released($0) }
    }
    defer { isLastStepOpen = true }
    var (released, merged) = (future, [TapedCommit]())
    if !released.isEmpty, !isPlanted(.keptFuture) { future = [] }
    let begun = beginStepWithAside()
    if !isFit {
      unfit.note(commit.dispatchID)
      released += past
      merged = [commit]
      past = []
    } else if let index = step(of: commit) ?? begun ?? lastStep(with: key, at: time) {
      merged = past[index].join(commit, key: key, time: time)
    } else {
      past.append(Step(commit, key: key, time: time))
    }
    released += takeExcess()
    return released.isEmpty && merged.isEmpty ? nil : Released(released, merged)
  }

  /// Makes what observers have changed the beginning of the next step.
  private mutating func beginStepWithAside() -> Int? {
    guard let aside = aside.take() else { return nil }
    past.append(aside)
    return past.count - 1
  }

  /// The step of the commit's dispatch, unless a later step has changed the store: then the order would be lost.
  private func step(of commit: TapedCommit) -> Int? {
    guard let id = commit.dispatchID else { return nil }
    for index in past.indices.suffix(Self.reach).reversed() {
      if past[index].dispatchIDs.contains(id) { return index }
      if past[index].hasChanged(commit.index), !isPlanted(.joinedOutOfOrder) { return nil }
    }
    return nil
  }

  private func lastStep(with key: TypedKey?, at time: Int64) -> Int? {
    guard isLastStepOpen, let key, let last = past.last, last.key == key,
      time - last.time <= interval
    else {
      return nil
    }
    return past.count - 1
  }

  /// Removes the oldest steps; an eighth more than there may be at a time, so that it takes constant time on average.
  private mutating func takeExcess() -> [Step] {
    guard past.count >= limit + limit / 8 + 1 else { return [] }
    // Not a slice, which would share the list, so that removing would copy all of it.
    let excess = Array(past.prefix(past.count - limit))
    past.removeFirst(excess.count)
    return excess
  }

  /// Moves the last step to those that can be done again.
  mutating func undo(by id: DispatchID?) -> Move? {
    guard !isClosed, let step = past.popLast() else { return nil }
    future.append(step)
    return move(step, isBack: true, by: id)
  }

  /// Moves the step that was undone last back.
  mutating func redo(by id: DispatchID?) -> Move? {
    guard !isClosed, let step = future.popLast() else { return nil }
    past.append(step)
    return move(step, isBack: false, by: id)
  }

  private mutating func move(_ step: Step, isBack: Bool, by id: DispatchID?) -> Move {
    isLastStepOpen = false
    restorations.note(id)
    return Move(aside: aside.take(), step: step, isBack: isBack)
  }

  /// Ends undo and redo.
  ///
  /// The steps are released with the state, since the history may be released in a reducer.
  mutating func close() { isClosed = true }

  mutating func removeAll() -> Released {
    defer { (past, future, aside) = ([], [], nil) }
    return Released(past + future + [aside].compactMap(\.self))
  }
}

extension ShortList<DispatchID> {
  /// The number of dispatches that are known; seldom are more of one key under way at a time.
  private static var limit: Int { 16 }

  /// Notes a dispatch as the last one.
  fileprivate mutating func note(_ id: DispatchID?) {
    guard let id, !contains(id) else { return }
    if count == Self.limit { _ = remove(at: 0) }
    append(id)
  }
}
