import DispatchStore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ObserverDeliveryTests {
  private let store = CounterStore.counter("s")

  private static let queues: [DispatchQueue] = [
    DispatchQueue(label: "serial"),
    DispatchQueue(label: "concurrent", attributes: .concurrent),
    DispatchQueue.global(),
  ]

  @Test(arguments: queues)
  func onAQueueTheOrderIsKept(queue: DispatchQueue) async {
    let store = store
    let received = Recorder<UInt64>()
    let token = store.observe(.part(\.count), on: .queue(queue)) { change in
      received.record(change.value == Int(change.version) ? change.version : 0)
    }
    await onOwnThreads(4) { _ in
      for _ in 0..<100 { store.updateModel { $0.count += 1 } }
    }
    #expect(await received.first(400) == Array(1...400))
    token.cancel()
  }

  @Test func onAConcurrentQueueALaterChangeDoesNotOvertake() async {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let behind = Latch()
    let received = Recorder<UInt64>()
    let token = store.observe(.part(\.count), on: .queue(queue)) { change in
      if change.version == 1 { behind.wait() }
      received.record(change.version)
    }
    for _ in 0..<50 { store.updateModel { $0.count += 1 } }
    // The queue starts its blocks in order: what could overtake has been started before these.
    for _ in 0..<5 { await onOwnThread { queue.sync {} } }
    behind.open()
    #expect(await received.first(50) == Array(1...50))
    token.cancel()
  }

  @Test func noCommitWaitsForAnObserverOnAQueue() async {
    let queue = DispatchQueue(label: "held")
    let received = Recorder<Int>()
    let token = store.observe(.part(\.count), initial: true, on: .queue(queue)) {
      received.record($0.value)
    }
    _ = await received.first(1)
    let (entered, proceed) = (Latch(), Latch())
    queue.async {
      entered.open()
      proceed.wait()
    }
    await entered.opened()
    for count in 1...3 { store.updateModel { $0.count = count } }
    #expect(received.all == [0], "All updates have returned, and the queue is held.")
    proceed.open()
    #expect(await received.first(4) == [0, 1, 2, 3])
    token.cancel()
  }

  @Test func oneCancelledWhileItsQueueIsHeldIsNotCalled() async {
    let queue = DispatchQueue(label: "held")
    let proceed = Latch()
    queue.async { proceed.wait() }
    let received = Recorder<UInt64>()
    let token = store.observe(.model, on: .queue(queue)) { received.record($0.version) }
    let other = store.observe(.model, on: .queue(queue)) { _ in }
    store.updateModel { _ in }
    token.cancel()
    proceed.open()
    let drained = Latch()
    let last = store.observe(.model, initial: true, on: .queue(queue)) { _ in drained.open() }
    await drained.opened()
    await onOwnThread { queue.sync(flags: .barrier) {} }
    #expect(received.all.isEmpty)
    withExtendedLifetime([other, last]) {}
  }

  @Test func eachObserverOnAQueueIsCalledThereAndInlineOnesAreNot() async {
    let queue = DispatchQueue(label: "own")
    let key = DispatchSpecificKey<Int>()
    queue.setSpecific(key: key, value: 1)
    let places = Recorder<Int?>()
    let token = store.observe(.model, on: .queue(queue)) { _ in
      places.record(DispatchQueue.getSpecific(key: key))
    }
    let inline = Recorder<Int?>()
    let other = store.observe(.model) { _ in
      inline.record(DispatchQueue.getSpecific(key: key))
    }
    store.updateModel { _ in }
    #expect(inline.all == [nil])
    #expect(await places.first(1) == [1])
    withExtendedLifetime([token, other]) {}
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func onTheMainQueueTheOrderIsKept(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let store = dispatcher.register(store: store)
    let received = Recorder<Int>()
    let token = store.observe(.part(\.count), initial: true, on: .main) { change in
      MainActor.assertIsolated()
      dispatchPrecondition(condition: .onQueue(.main))
      received.record(change.value)
    }
    for _ in 0..<50 { dispatcher.dispatch(action: CounterAction.add(1), mode: mode) }
    #expect(await received.first(51) == Array(0...50))
    token.cancel()
  }

  @Test func anObserverOnAQueueMayDispatchAndIsNotifiedOfThat() async {
    let dispatcher = Dispatcher()
    let store = dispatcher.register(store: store)
    let received = Recorder<Int>()
    let token = store.observe(.part(\.count), on: .queue(DispatchQueue(label: "own"))) { change in
      received.record(change.value)
      if change.value < 5 { store.dispatch(.add(1), mode: .sync) }
    }
    store.dispatch(.add(1), mode: .sync)
    #expect(await received.first(5) == [1, 2, 3, 4, 5])
    token.cancel()
  }
}
