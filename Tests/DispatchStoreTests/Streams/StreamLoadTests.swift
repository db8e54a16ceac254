import DispatchStore
import Foundation
import Testing

/// Many producers, and subscribers that come and go.
@Suite(.timeLimit(.minutes(20)))
struct StreamLoadTests {
  private let dispatcher = Dispatcher(name: "stream load")
  private let store: CounterStore
  private let producers = 8
  private var total: Int { producers * Load.count(1_000) }

  init() {
    store = dispatcher.register(store: .counter("counter"))
  }

  /// Each change adds 1, in one mode after the other, so the count is the version.
  private func produce() async {
    let (store, total, ended) = (store, total, EventCount(of: total))
    await onOwnThreads(producers) { producer in
      for number in 0..<(total / 8) {
        let mode = Dispatcher.Mode.everyMode[(producer + number) % Dispatcher.Mode.everyMode.count]
        store.dispatch(.add(1), mode: mode) { _ in ended.add() }
      }
    }
    await ended.full()
  }

  @Test func eachSubscriberSeesAnOrderedPrefixConsistentSequenceAndTheLastState() async {
    let begun = EventCount(of: 6)
    await withTaskGroup { group in
      for number in 0..<6 {
        // From the first change to the last.
        group.addTask { [store, total] in
          var changes = store.stream(
            .part(\.self), buffering: number < 3 ? .unbounded : .suspending(100)
          )
          .makeAsyncIterator()
          begun.add()
          for version in 1...total {
            let change = await changes.next()
            guard change?.version == UInt64(version), change?.value.count == version,
              change?.old?.count == version - 1
            else {
              Issue.record("\(version) is missing: \(String(describing: change))")
              return
            }
          }
        }
      }
      await begun.full()
      for number in 0..<8 {
        group.addTask { [store, total] in await comeAndGo(number, store, total) }
      }
      for policy in [StreamBuffering.newest(1), .newest(16), .unbounded] {
        group.addTask { [store, total] in
          await reachEnd(store.stream(.model, initial: true, buffering: policy), total)
        }
        group.addTask { [store, total] in
          var last = -1
          for await count in store.stream(.part(\.count), initial: true, buffering: policy).map(
            \.value)
          {
            #expect(count > last)
            last = count
            if count == total { return }
          }
        }
      }
      await produce()
      #expect(store.model.count == total)
    }

    @Sendable func reachEnd(
      _ models: StoreStream<Change<Counter, CounterAction>>, _ total: Int
    ) async {
      var last = -1
      for await change in models {
        let model = change.value
        #expect(model.count > last)
        last = model.count
        if last == total { return }
      }
    }

    /// Subscribes again and again, and takes some changes each time.
    @Sendable func comeAndGo(_ number: Int, _ store: CounterStore, _ total: Int) async {
      var round = 0
      while true {
        var (expected, taken): (UInt64?, Int) = (nil, 0)
        for await change in store.stream(.part(\.self), initial: true, buffering: .unbounded) {
          #expect(change.version == expected ?? change.version)
          #expect(change.value.count == change.version)
          #expect(change.old?.count == expected.map { _ in Int(change.version) - 1 })
          expected = change.version + 1
          taken += 1
          if change.version == total { return }
          if taken > 10 * number + round % 100 { break }
        }
        round += 1
      }
    }
  }
}
