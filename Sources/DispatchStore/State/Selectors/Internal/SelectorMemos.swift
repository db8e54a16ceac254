/// A store's cache for selectors; the store's lock guards it.
///
/// Before the cache grows, entries of released selectors are removed. So it has at most twice as many entries as
/// selectors exist, or eight.
final class SelectorMemos: StoreAttachment, @unchecked Sendable {
  // because its superclass is
  /// The entries by the selectors' numbers.
  @exclusivity(unchecked) private var memos: [UInt64: SelectorMemo] = [:]
  /// The number of entries at which those of released selectors are removed.
  private var limit = 8
  private var lastStamp: UInt64 = 0
  /// The number of changes to overrides, so that evaluations begun before a change are not kept.
  private var generation = 0
  /// Whether `select` may return what a test has set, which streams don't see.
  private(set) var hasOverrides = false

  /// The selection for this version of the model, or nil; valid while the lock is held.
  func selection(of id: UInt64, at version: UInt64) -> Unmanaged<Selection>? {
    guard let memo = memos[id], memo.version == version else { return nil }
    return memo.selection
  }

  func computations(of id: UInt64) -> Int {
    memos[id]?.computations ?? 0
  }

  // MARK: Evaluation

  /// An evaluation by one thread, from the values known when it began.
  struct Pass {
    var evaluation: SelectorEvaluation
    fileprivate let memos: [SelectorMemo]
    fileprivate let version: UInt64
    fileprivate let generation: Int
    /// Objects that the store no longer keeps.
    ///
    /// The caller releases them outside the lock, because that may run the program's code.
    fileprivate var removed: [AnyObject]
  }

  /// Begins to evaluate a selector for a version of the model.
  func begin(_ node: SelectorNode, version: UInt64) -> Pass {
    var removed: [AnyObject] = []
    let memos = (0..<node.plan.count).map { index in
      memo(of: node.plan.node(index, of: node), &removed)
    }
    lastStamp += 1
    let evaluation = SelectorEvaluation(of: node, stamp: lastStamp) { index in
      let memo = memos[index]
      let last = memo.selection?.takeUnretainedValue()
      let isPresent = memo.version == version
      return SelectorEvaluation.Step(
        last: last, present: memo.override ?? (isPresent ? last : nil))
    }
    return Pass(
      evaluation: evaluation, memos: memos, version: version, generation: generation,
      removed: removed)
  }

  /// Keeps the results of a pass, unless more recent values are known.
  func end(_ pass: inout Pass) {
    for (memo, step) in zip(pass.memos, pass.evaluation.steps) where step.isNeeded {
      if step.isComputed { memo.computations += 1 }
      let isNewer = memo.version == SelectorMemo.noVersion || memo.version < pass.version
      guard pass.generation == generation, isNewer, let present = step.present else { continue }
      if let old = memo.replaceSelection(by: present, for: pass.version) {
        pass.removed.append(old)
      }
    }
  }

  /// Returns the memo of a selector, and adds it if there is none.
  private func memo(of node: SelectorNode, _ removed: inout [AnyObject]) -> SelectorMemo {
    if let memo = memos[node.id] { return memo }
    if memos.count >= limit {
      // Asked once: another thread may release the selector at any time.
      let dead = memos.filter(\.value.isDead)
      if !dead.isEmpty {
        removed += dead.values.map { $0 as AnyObject }
        // Made anew, since a dictionary that shrinks keeps its memory.
        memos = memos.filter { dead[$0.key] == nil }
      }
      limit = max(8, 2 * memos.count)
    }
    let memo = SelectorMemo(of: node)
    memos[node.id] = memo
    return memo
  }

  // MARK: Tests

  /// Overrides a selector's value; returns objects for the caller to release outside the lock.
  func override(_ node: SelectorNode, by make: (_ stamp: UInt64) -> Selection) -> [AnyObject] {
    var removed: [AnyObject] = []
    let memo = memo(of: node, &removed)
    if let old = memo.override { removed.append(old) }
    lastStamp += 1
    memo.override = make(lastStamp)
    hasOverrides = true
    forgetVersions()
    return removed
  }

  /// Removes all overrides; returns objects for the caller to release outside the lock.
  func removeOverrides() -> [AnyObject] {
    let removed = memos.values.compactMap { $0.override.take() }
    hasOverrides = false
    forgetVersions()
    return removed
  }

  /// Makes each selector evaluate again, and compute if an input has changed.
  func forgetVersions() {
    generation += 1
    for memo in memos.values { memo.version = SelectorMemo.noVersion }
  }
}
