extension Store {
  /// The value of a selector for the present model.
  ///
  /// As `model`, it may be called on any thread, but not inside an exclusive section; there, call the selector with
  /// the model. Where the model is the one of the last call, this costs about what reading the model does. Otherwise
  /// the selectors that read the model do that in the exclusive section, and those of which an input has changed
  /// are computed after it, with no lock held. All of them see the same version of the model.
  public func select<Value>(_ selector: Selector<Model, Value>) -> Value {
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
    return node.value(of: evaluate(node, on: thread))
  }

  /// The lock is locked.
  @inline(never)
  private func evaluate(_ node: SelectorNode, on thread: ThreadState) -> Selection {
    thread.exclusive = storage
    let memos = storage.attachment(orAdd: SelectorMemos())
    var pass = memos.begin(node, version: storage.version)
    pass.read(storage.model)
    storage.unlockUnchanged(on: thread)
    let selection = pass.finish()
    yieldPoint(.read, on: thread, identifier)
    storage.lock.lock()
    memos.end(&pass)
    storage.lock.unlock()
    return selection
  }
}

extension StoreStorage {
  /// What a selector is for the present model, where that is known; under the lock.
  @inline(__always)
  fileprivate final func presentSelection(of id: UInt64) -> Unmanaged<Selection>? {
    attachment(SelectorMemos.self)?._withUnsafeGuaranteedRef { $0.selection(of: id, at: version) }
  }
}

// For tests; DispatchStoreTesting has the public forms.
extension Store {
  package func selectorComputations<Value>(of selector: Selector<Model, Value>) -> Int {
    ExclusiveSection.check(storage, "read", on: .current)
    return storage.withLock { _ in
      storage.attachment(SelectorMemos.self)?._withUnsafeGuaranteedRef {
        $0.computations(of: selector.node.id)
      } ?? 0
    }
  }

  package func override<Value>(_ selector: Selector<Model, Value>, with value: Value) {
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
