/// A store's cache for selectors; the store's lock guards it.
///
/// An open-addressing hash table by the selectors' numbers, which need no hashing. Before the table grows, entries of
/// released selectors are removed. So it has room for at most twice as many selectors as exist, or for eight.
final class SelectorMemos: StoreAttachment, @unchecked Sendable {
  // because its superclass is
  /// The slots, of which at most three quarters are filled; unmanaged, like the selections in the memos.
  @exclusivity(unchecked) private var slots = SelectorMemos.makeSlots(8)
  private var count = 0
  private var lastStamp: UInt64 = 0
  /// The number of changes to overrides, so that evaluations begun before a change are not kept.
  private var generation = 0

  private static func makeSlots(_ count: Int) -> UnsafeMutableBufferPointer<
    Unmanaged<SelectorMemo>?
  > {
    let slots = UnsafeMutableBufferPointer<Unmanaged<SelectorMemo>?>.allocate(capacity: count)
    slots.initialize(repeating: nil)
    return slots
  }

  deinit {
    for slot in slots { slot?.release() }
    slots.deallocate()
  }

  /// Finds a selector's memo; the result is valid while the lock is held.
  private func find(_ id: UInt64) -> Unmanaged<SelectorMemo>? {
    var index = Int(truncatingIfNeeded: id) & (slots.count - 1)
    while let memo = slots[index] {
      if memo._withUnsafeGuaranteedRef({ $0.id == id }) { return memo }
      index = (index + 1) & (slots.count - 1)
    }
    return nil
  }

  /// The selection for this version of the model, or nil; valid while the lock is held.
  func selection(of id: UInt64, at version: UInt64) -> Unmanaged<Selection>? {
    guard let memo = find(id) else { return nil }
    return memo._withUnsafeGuaranteedRef { $0.version == version ? $0.selection : nil }
  }

  func computations(of id: UInt64) -> Int {
    find(id)?._withUnsafeGuaranteedRef(\.computations) ?? 0
  }

  // MARK: Evaluation

  /// An evaluation by one thread, from the values known when it began.
  struct Pass {
    fileprivate(set) var evaluation: SelectorEvaluation
    fileprivate let memos: [SelectorMemo]
    fileprivate let version: UInt64
    fileprivate let generation: Int
    /// Objects that the store no longer keeps.
    ///
    /// The caller releases them outside the lock, because that may run the program's code.
    fileprivate var removed: [AnyObject]

    /// Reads the model, in the store's exclusive section.
    mutating func read(_ model: UnsafeRawPointer) { evaluation.read(model) }

    /// Computes the remaining values, outside the exclusive section.
    mutating func finish() -> Selection { evaluation.finish() }
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
    if let memo = find(node.id) { return memo.takeUnretainedValue() }
    if (count + 1) * 4 > slots.count * 3 { makeRoom(&removed) }
    let memo = SelectorMemo(of: node)
    insert(.passRetained(memo))
    return memo
  }

  private func insert(_ memo: Unmanaged<SelectorMemo>) {
    let id = memo._withUnsafeGuaranteedRef(\.id)
    var index = Int(truncatingIfNeeded: id) & (slots.count - 1)
    while slots[index] != nil { index = (index + 1) & (slots.count - 1) }
    slots[index] = memo
    count += 1
  }

  /// Removes the memos of released selectors, and grows the table if these are few.
  private func makeRoom(_ removed: inout [AnyObject]) {
    var living: [Unmanaged<SelectorMemo>] = []
    for memo in slots.compactMap(\.self) {
      // Read once: another thread may release the selector at any time.
      if memo._withUnsafeGuaranteedRef(\.isDead) {
        removed.append(memo.takeRetainedValue())
      } else {
        living.append(memo)
      }
    }
    var size = 8
    while living.count * 2 >= size { size *= 2 }
    slots.deallocate()
    slots = Self.makeSlots(size)
    count = 0
    for memo in living { insert(memo) }
  }

  // MARK: Tests

  /// Overrides a selector's value; returns objects for the caller to release outside the lock.
  func override(_ node: SelectorNode, by make: (_ stamp: UInt64) -> Selection) -> [AnyObject] {
    var removed: [AnyObject] = []
    let memo = memo(of: node, &removed)
    if let old = memo.override { removed.append(old) }
    lastStamp += 1
    memo.override = make(lastStamp)
    forgetVersions()
    return removed
  }

  /// Removes all overrides; returns objects for the caller to release outside the lock.
  func removeOverrides() -> [AnyObject] {
    let removed = slots.compactMap { $0?._withUnsafeGuaranteedRef { $0.override.take() } }
    forgetVersions()
    return removed
  }

  /// Makes each selector evaluate again, and compute if an input has changed.
  private func forgetVersions() {
    generation += 1
    for memo in slots { memo?._withUnsafeGuaranteedRef { $0.version = SelectorMemo.noVersion } }
  }
}
