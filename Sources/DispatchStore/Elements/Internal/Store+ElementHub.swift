extension Store {
  /// Identifies a hub among those of a store.
  private struct HubKey: Hashable {
    let path: AnyKeyPath
    let isNotified: Bool
  }

  /// Adds an observer of one element, and notifies it of the present element first where it is to be.
  func observe<Elements: KeyedCollection & Sendable>(
    _ path: any KeyPath<Model, Elements> & Sendable, _ key: Elements.ElementKey, initial: Bool,
    _ observer: ElementObserver<Elements.ElementValue, Action>
  ) -> ObserverToken
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    let thread = ThreadState.current
    ExclusiveSection.check(storage, "observed", on: thread)
    yieldPoint(.observe, on: thread, identifier)
    storage.lockToRead(on: thread)
    let (hub, isNew) = hub(for: path, isNotified: observer.isNotified)
    let present = hub.part.read(of: storage.model) { $0.pointee.value(forKey: key) }
    hub.add(observer, for: key)
    let isDue = observer.begin(with: present, version: storage.version, isInitial: initial)
    let turn = storage.unlockObserving(on: thread) { notifications, place in
      if isNew { _ = notifications.add(hub, from: 0, present: nil, place: place) }
      guard initial, observer.isNotified else { return .none }
      return notifications.enqueue(
        ObservedChange(version: storage.version), only: observer, place: place)
    }
    if isDue { observer.scheduleCall() }
    storage.carryOut(turn, on: thread)
    return ObserverToken { [weak storage] in
      observer.cancel()
      storage?.afterSection { $0.remove(observer, for: key, from: hub) }
    }
  }

  private func hub<Elements: KeyedCollection & Sendable>(
    for path: any KeyPath<Model, Elements> & Sendable, isNotified: Bool
  ) -> (hub: ElementHub<Model, Action, Elements>, isNew: Bool)
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    let key = HubKey(path: path, isNotified: isNotified)
    if let hub = storage.attachments?[key] {
      return (unsafeDowncast(hub, to: ElementHub<Model, Action, Elements>.self), false)
    }
    let hub = ElementHub<Model, Action, Elements>(
      ModelPart(path), of: storage.model, isNotified: isNotified)
    storage.attachments = storage.attachments ?? [:]
    storage.attachments?[key] = hub
    return (hub, true)
  }
}

extension ModelStorage {
  /// Calls a closure now, or inside an exclusive section once the thread has left it.
  func afterSection(_ body: @escaping (ModelStorage) -> Void) {
    let thread = ThreadState.current
    if thread.exclusive == nil { return body(self) }
    thread.atSectionEnd { body(self) }
  }

  /// Begins an exclusive section in which an observer is removed.
  ///
  /// Without a yield point: when a token is released depends on the compiler.
  func lockToRelease(on thread: ThreadState) {
    lock.lock()
    thread.exclusive = self
  }

  /// Removes an observer of an element, and its hub where that has no other.
  func remove<Elements: KeyedCollection & Sendable>(
    _ observer: ElementObserver<Elements.ElementValue, Action>, for key: Elements.ElementKey,
    from hub: ElementHub<Model, Action, Elements>
  )
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    let thread = ThreadState.current
    lockToRelease(on: thread)
    hub.remove(observer, for: key)
    if hub.isEmpty {
      attachments = attachments?.filter { $0.value !== hub }
      hub.end(model)
      withObserversLocked { $0.remove(hub) }
    }
    unlockUnchanged(on: thread)
  }
}
