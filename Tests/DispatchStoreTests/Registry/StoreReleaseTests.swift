import DispatchStore
import Foundation
import Testing

/// Once their work has ended, no queue and no thread keeps a store, a dispatcher or a middleware.
@Suite("Release of stores and dispatchers", .serialized, .timeLimit(.minutes(10)))
struct StoreReleaseTests {
  /// What threads do after they have dispatched.
  enum Afterwards: CaseIterable, Sendable {
    case idle, gone
  }

  /// A store that counts its release.
  private static func store(_ name: String, _ ends: EventCount) -> ProbeStore {
    let mortal = Mortal(ends)
    return .reducing(name) { withExtendedLifetime(mortal) {} }
  }

  /// Dispatches on several threads, and calls `body` once all has ended and the threads are idle or gone.
  private func dispatchOnThreads(
    to home: Home, _ mode: Dispatcher.Mode, _ afterwards: Afterwards,
    then body: () async -> Void
  ) async {
    let (threads, ends) = (3, EventCount(of: 60))
    let (dispatched, mayGo, gone) = (EventCount(of: threads), Latch(), EventCount(of: threads))
    for _ in 0..<threads {
      Thread {
        for _ in 0..<20 { home.dispatcher?.dispatch(action: Ping(), mode: mode) { ends.add() } }
        dispatched.add()
        if afterwards == .idle { mayGo.wait() }
        gone.add()
      }.start()
    }
    await dispatched.full()
    await ends.full()
    if afterwards == .gone { await gone.full() }
    await body()
    mayGo.open()
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Afterwards.allCases)
  func anUnregisteredStoreIsReleasedWhateverItsThreadsDo(
    _ mode: Dispatcher.Mode, _ afterwards: Afterwards
  ) async {
    let (home, released) = (Home(), EventCount(of: 1))
    home.dispatcher?.register(store: .probe("stays"))
    home.dispatcher?.register(store: Self.store("goes", released))
    await dispatchOnThreads(to: home, mode, afterwards) {
      #expect(released.count == 0)
      home.dispatcher?.unregister(storeIdentifier: "goes")
      await released.full()
    }
    #expect(home.dispatcher?.stores.count == 1)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aStoreIsReleasedThatIsUnregisteredWhileOthersDispatch(_ mode: Dispatcher.Mode) async {
    let (dispatcher, released, stop) = (Dispatcher(), EventCount(of: 50), Latch())
    dispatcher.register(store: .probe("stays"))
    let (running, ends) = (EventCount(of: 2), Recorder<Bool>())
    for _ in 0..<2 {
      Thread {
        let ended = DispatchSemaphore(value: 64)
        while !stop.isOpen {
          ended.wait()
          dispatcher.dispatch(Ping(), mode: mode) { _ in ended.signal() }
        }
        // All that it dispatched has ended.
        for _ in 0..<64 { ended.wait() }
        for _ in 0..<64 { ended.signal() }
        ends.record(true)
        running.add()
      }.start()
    }
    for index in 0..<50 {
      dispatcher.register(store: Self.store("\(index)", released))
      _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
      dispatcher.unregister(storeIdentifier: "\(index)")
    }
    stop.open()
    await running.full()
    await released.full()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aStoreUnregisteredWhileItsActionIsUnderWayIsReleasedAtItsEnd(
    _ mode: Dispatcher.Mode
  ) async {
    let (dispatcher, released, ended) = (Dispatcher(), Latch(), Latch())
    let (began, mayEnd) = (Latch(), Latch())
    do {
      let signal = Mortal(released)
      let reducer = ClosureReducer<Int, Ping> { action, store in
        ActionOperation(action: action, store: store) { _, _ in
          began.open()
          await mayEnd.opened()
          withExtendedLifetime(signal) {}
        }
      }
      dispatcher.register(store: ProbeStore(identifier: "goes", model: 0, reducer: reducer))
    }
    Thread { dispatcher.dispatch(action: Ping(), mode: mode) { ended.open() } }.start()
    await began.opened()
    dispatcher.unregister(storeIdentifier: "goes")
    #expect(!released.isOpen)
    mayEnd.open()
    await ended.opened()
    await released.opened()
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Afterwards.allCases)
  func aDroppedDispatcherIsReleasedWithAllThatItHasWhateverItsThreadsDo(
    _ mode: Dispatcher.Mode, _ afterwards: Afterwards
  ) async {
    let (home, released) = (Home(), EventCount(of: 3))
    do {
      let mortal = Mortal(released)
      home.dispatcher?.register(
        middleware: RecordingMiddleware(will: { _, _, _ in withExtendedLifetime(mortal) { .pass } })
      )
      home.dispatcher?.register(store: Self.store("one", released))
      home.dispatcher?.register(store: Self.store("other", released), waitFor: ["one"])
    }
    await dispatchOnThreads(to: home, mode, afterwards) {
      #expect(released.count == 0)
      home.leave()
      await released.full()
    }
  }
}

/// Holds the last reference to a dispatcher, until `leave()`.
private final class Home: @unchecked Sendable {  // because `lock` guards what changes
  private let lock = NSLock()
  private var current: Dispatcher? = Dispatcher()

  var dispatcher: Dispatcher? { lock.withLock { current } }

  func leave() {
    // Released outside the lock.
    withExtendedLifetime(lock.withLock { current.take() }) {}
  }
}
