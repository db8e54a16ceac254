import DispatchStore
import Foundation
import Testing

/// Where a misuse happens: each is inside the exclusive section of store "held".
enum ExclusivePlace: String, CaseIterable, Codable {
  case updateModel, withModel, reduce
}

/// What must not be done there.
enum ExclusiveMisuse: String, CaseIterable, Codable {
  case updateModel, inject, model, version, withModel, observe, observeSaved, awaitStreams
  case synchronousDispatch

  /// What the message says of the store.
  var verb: String {
    switch self {
    case .updateModel, .inject: "changed"
    case .model, .version, .withModel: "read"
    case .observe, .observeSaved: "observed"
    case .awaitStreams: "waited for"
    case .synchronousDispatch: ""
    }
  }
}

extension ExclusiveMisuse {
  fileprivate func commit(to store: CounterStore) {
    switch self {
    case .updateModel: store.updateModel { $0.count = 1 }
    case .inject: store.inject(model: Counter())
    case .model: _ = store.model
    case .version: _ = store.version
    case .withModel: store.withModel { _ in }
    case .observe: withExtendedLifetime(store.observe(.model) { _ in }) {}
    case .observeSaved: withExtendedLifetime(store.observe(.model, when: .durable) { _ in }) {}
    case .awaitStreams: _ = Task.immediate { await store.streamsCaughtUp() }
    case .synchronousDispatch: store.dispatch(.add(1), mode: .sync)
    }
  }

  fileprivate func commit(to store: ProbeStore) {
    switch self {
    case .updateModel: store.updateModel { $0 = 1 }
    case .inject: store.inject(model: 1)
    case .model: _ = store.model
    case .version: _ = store.version
    case .withModel: store.withModel { _ in }
    case .observe: withExtendedLifetime(store.observe(.model) { _ in }) {}
    case .observeSaved: withExtendedLifetime(store.observe(.model, when: .durable) { _ in }) {}
    case .awaitStreams: _ = Task.immediate { await store.streamsCaughtUp() }
    case .synchronousDispatch: store.dispatch(Ping(), mode: .sync)
    }
  }
}

/// Misuses store "held" itself, or store "other", inside the section of "held".
private func misuse(_ misuse: ExclusiveMisuse, ofOther: Bool, in place: ExclusivePlace) {
  // A deadlock is a failure too, not an endless test.
  alarm(30)
  let dispatcher = Dispatcher()
  let other = dispatcher.register(store: CounterStore.counter("other"))
  let body: @Sendable () -> Void = {
    let held = (dispatcher.store(with: "held") as! ProbeStore)
    if ofOther { misuse.commit(to: other) } else { misuse.commit(to: held) }
  }
  let held = dispatcher.register(store: .reducing("held", body))
  switch place {
  case .updateModel: held.updateModel { _ in body() }
  case .withModel: held.withModel { _ in body() }
  case .reduce: dispatcher.dispatch(action: Ping(), mode: .sync)
  }
}

@Suite(.timeLimit(.minutes(10)))
struct ExclusiveSectionTests {
  @Test(arguments: ExclusiveMisuse.allCases, [false, true])
  func misuseInsideAnUpdateStopsTheProgramAndNamesBothStores(
    misused: ExclusiveMisuse, ofOther: Bool
  ) async {
    await expectStop(misused, ofOther, .updateModel)
  }

  @Test(arguments: ExclusiveMisuse.allCases, [false, true])
  func misuseInsideAReductionStopsTheProgramAndNamesBothStores(
    misused: ExclusiveMisuse, ofOther: Bool
  ) async {
    await expectStop(misused, ofOther, .reduce)
  }

  @Test(arguments: [ExclusiveMisuse.updateModel, .model, .synchronousDispatch], [false, true])
  func misuseInsideAReadStopsTheProgramAndNamesBothStores(
    misused: ExclusiveMisuse, ofOther: Bool
  ) async {
    await expectStop(misused, ofOther, .withModel)
  }

  private func expectStop(
    _ misused: ExclusiveMisuse, _ ofOther: Bool, _ place: ExclusivePlace
  ) async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { [misused, ofOther, place] in
      misuse(misused, ofOther: ofOther, in: place)
    }
    let store = ofOther ? "other" : "held"
    if misused == .synchronousDispatch {
      #expect(result.message.contains("can't be dispatched .sync"))
      #expect(result.message.contains("to store \"\(store)\" inside"))
      #expect(result.message.contains("ExclusiveSectionTests.swift"), "The call site.")
    } else {
      #expect(result.message.contains("Store \"\(store)\" can't be \(misused.verb) inside"))
    }
    #expect(result.message.contains("exclusive section of store \"held\""))
  }

  @Test func aSynchronousDispatchToAllNamesAllOfItsStores() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let dispatcher = Dispatcher()
      dispatcher.addProbe("a", to: Recorder())
      dispatcher.addProbe("b", to: Recorder())
      CounterStore.counter("held").updateModel { _ in
        dispatcher.dispatch(actions: [Ping()], mode: .sync)
      }
    }
    #expect(result.message.contains("to store \"a\", \"b\" inside"))
    #expect(result.message.contains("exclusive section of store \"held\""))
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func dispatchingInAnotherModeIsAllowed(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let store = dispatcher.register(store: .counter("held"))
    let handle = store.updateModel { model in
      model.count = 1
      return dispatcher.dispatch(action: CounterAction.add(1), mode: mode)
    }
    #expect(await handle.result.isSuccess)
    #expect(store.model.count == 2)
  }

  @Test func theSectionIsLeftWhenItsClosureThrows() {
    let store = CounterStore.counter("held")
    #expect(throws: CounterFailure()) { try store.updateModel { _ in throw CounterFailure() } }
    #expect(throws: CounterFailure()) { try store.withModel { _ in throw CounterFailure() } }
    #expect(store.model == Counter())
    store.updateModel { $0.count = 1 }
    #expect(store.version == 2)
  }

  @Test func cancellingAnObserverInsideTheSectionIsAllowed() async {
    await #expect(processExitsWith: .success) {
      alarm(30)
      let store = CounterStore.counter("held")
      let received = Recorder<Int>()
      let token = store.observe(.model) { received.record($0.value.count) }
      store.updateModel { model in
        model.count = 1
        token.cancel()
      }
      #expect(received.count == 0)
      store.updateModel { $0.count = 2 }
      #expect(received.count == 0)
    }
  }
}
