import Foundation
import Observation
import Synchronization
import Testing

@testable import DispatchStore

/// What tracking leaves behind.
@Suite(.timeLimit(.minutes(10)))
struct UntrackedStoreTests {
  /// What the library finds out about the toolchain's registrar, on which its costs rest.
  @Test func theRegistrarHashesTheKeyPathsOfTrackedReadsAndOfNoOthers() {
    #expect(ReadProbe.isRight)
  }

  @Test func aStoreThatTrackedCodeDoesNotReadHasNoTracker() {
    let (read, other) = (CounterStore.counter(), CounterStore.counter())
    for kind in StoreRead.allCases { _ = kind.read(read) }
    withObservationTracking {
      _ = other.model
    } onChange: {
    }
    #expect(!read.hasTracker && !read.storage.isObserved)
    #expect(other.hasTracker && other.storage.isObserved)
  }

  @Test func aStoreIsObservedOnlyUntilTheChangeAfterATrackedRead() {
    let store = CounterStore.counter()
    for _ in 0..<3 {
      withObservationTracking {
        _ = store.model
        _ = store.version
      } onChange: {
      }
      #expect(store.storage.isObserved)
      store.updateModel { $0.count += 1 }
      #expect(!store.storage.isObserved)
      store.updateModel { $0.count += 1 }
    }
  }

  @Test func aStoreThatGoesReleasesWhatIsTracked() async {
    let (released, gone) = (Latch(), Latch())
    do {
      let store = Store<Gone, Ping>(model: Gone(Mortal(gone)), reducer: Reducer())
      let signal = Mortal(released)
      withObservationTracking {
        _ = store.model
      } onChange: {
        withExtendedLifetime(signal) {}
      }
    }
    await gone.opened()
    await released.opened()
  }

  /// Each thread has found out by a registrar that is not the store's.
  @Test func aStoreThatGoesReleasesWhatSeveralThreadsTrackedAtOnce() async {
    let threads = 4
    for _ in 0..<Load.count(200) {
      let deaths = EventCount(of: threads)
      do {
        let store = CounterStore.counter()
        await onOwnThreads(threads) { _ in
          let mortal = Mortal(deaths)
          withObservationTracking {
            _ = store.model
          } onChange: {
            withExtendedLifetime(mortal) {}
          }
        }
      }
      await deaths.full()
    }
  }
}

private struct Gone: Sendable {
  let signal: Mortal

  init(_ signal: Mortal) {
    self.signal = signal
  }
}

extension Store {
  fileprivate var hasTracker: Bool { storage.tracker.load(ordering: .acquiring) != 0 }
}
