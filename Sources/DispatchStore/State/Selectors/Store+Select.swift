extension Store {
  /// Returns the value of a selector for the current model.
  ///
  /// Call it on any thread, but not inside an exclusive section; there, call the selector with the model. If the
  /// model is unchanged since the last call, the cost is about that of reading the model. Otherwise selectors that
  /// read the model run in the exclusive section. Combined selectors with changed inputs are computed after it, with
  /// no lock held. All of them see the same version of the model.
  public func select<Value>(_ selector: StateSelector<Model, Value>) -> Value {
    let thread = ThreadState.here(storage)
    ExclusiveSection.check(storage, "read", on: thread)
    yieldPoint(.read, on: thread, identifier)
    storage.lock.lock()
    let node = selector.node
    if let selection = storage.presentSelection(of: node.id) {
      let value = selection._withUnsafeGuaranteedRef { node.value(of: $0) }
      storage.lock.unlock()
      return value
    }
    var evaluation = storage.evaluate(node, on: thread)
    return node.value(of: evaluation.finish())
  }
}

extension StoreStorage {
  /// Evaluates a selector for a commit, shared with all who select.
  ///
  /// Returns nil if the model has changed since in what the selector reads, as far as the bytes show, or if a test has
  /// overridden selectors.
  ///
  /// - Parameter roots: What the selector has read of the commit's model.
  func evaluation(
    of node: SelectorNode, _ roots: SelectorRoots, at version: UInt64
  ) -> SelectorEvaluation? {
    let thread = ThreadState.here(self)
    ExclusiveSection.check(self, "read", on: thread)
    yieldPoint(.read, on: thread, identifier)
    var present = roots
    // The values that are read here are released outside the lock.
    defer { withExtendedLifetime(present) {} }
    lock.lock()
    thread.exclusive = self
    let isSame =
      self.version == version || !present.read(modelAddress, of: node, stamp: 0)
    guard isSame, !hasOverrides else {
      unlockUnchanged(on: thread)
      return nil
    }
    return evaluate(node, on: thread)
  }

  /// Evaluates a selector for this version, and the selectors that it is combined from; called with the lock held.
  @inline(never)
  fileprivate final func evaluate(
    _ node: SelectorNode, on thread: ThreadState
  ) -> SelectorEvaluation {
    thread.exclusive = self
    let memos = attachment(orAdd: SelectorMemos())
    var pass = memos.begin(node, version: version)
    pass.evaluation.read(modelAddress)
    unlockUnchanged(on: thread)
    _ = pass.evaluation.finish()
    yieldPoint(.read, on: thread, identifier)
    lock.lock()
    memos.end(&pass)
    lock.unlock()
    return pass.evaluation
  }

  /// Whether a test has overridden selectors; called with the lock held.
  private final var hasOverrides: Bool {
    attachment(SelectorMemos.self)?._withUnsafeGuaranteedRef { $0.hasOverrides } ?? false
  }

  /// The cached selection of a selector for the current model, or nil; called with the lock held.
  @inline(__always)
  fileprivate final func presentSelection(of id: UInt64) -> Unmanaged<Selection>? {
    attachment(SelectorMemos.self)?._withUnsafeGuaranteedRef { $0.selection(of: id, at: version) }
  }
}

// For tests; DispatchStoreTesting has the public API.
extension Store {
  package func selectorComputations<Value>(of selector: StateSelector<Model, Value>) -> Int {
    ExclusiveSection.check(storage, "read", on: .current)
    return storage.withLock { _ in
      storage.attachment(SelectorMemos.self)?._withUnsafeGuaranteedRef {
        $0.computations(of: selector.node.id)
      } ?? 0
    }
  }

  package func override<Value>(_ selector: StateSelector<Model, Value>, with value: Value) {
    ExclusiveSection.check(storage, "changed", on: .current)
    yieldPoint(.read, identifier)
    let removed = storage.withLock { _ in
      storage.attachment(orAdd: SelectorMemos()).override(selector.node) {
        TypedSelection(value, stamp: $0)
      }
    }
    withExtendedLifetime(removed) {}
  }

  package func removeSelectorOverrides() {
    ExclusiveSection.check(storage, "changed", on: .current)
    yieldPoint(.read, identifier)
    let removed = storage.withLock { _ in
      storage.attachment(SelectorMemos.self)?._withUnsafeGuaranteedRef { $0.removeOverrides() }
    }
    withExtendedLifetime(removed) {}
  }
}
