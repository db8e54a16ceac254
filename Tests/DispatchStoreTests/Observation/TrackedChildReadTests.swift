import Observation
import Synchronization
import Testing

@testable import DispatchStore

/// The ways to read a part of a store.
enum ChildRead: CaseIterable, Sendable {
  case model, withModel, version, optionalModel, optionalWithModel, optionalVersion

  /// How often the shop has been visited, where nothing else has changed it.
  func read(_ shop: ShopStore) -> Int {
    let visits = shop.child(\.visits)
    let optional = visits.asOptionalChild
    return switch self {
    case .model: visits.model
    case .withModel: visits.withModel { $0 }
    case .version: Int(visits.version)
    case .optionalModel: optional.model ?? -1
    case .optionalWithModel: optional.withModel { $0 } ?? -1
    case .optionalVersion: Int(optional.version)
    }
  }
}

/// Code that the toolchain's Observation tracks, and that reads children of stores.
@Suite(.timeLimit(.minutes(10)))
struct TrackedChildReadTests {
  private let shop = ShopStore.shop()

  @Test(arguments: ChildRead.allCases)
  func eachKindOfReadByAChildIsTrackedAsOneOfItsStore(_ kind: ChildRead) {
    let changes = Recorder<Int>()
    for round in 1...3 {
      let seen = withObservationTracking {
        kind.read(shop)
      } onChange: {
        changes.record(kind.read(shop))
      }
      #expect(seen == round - 1)
      #expect(changes.count == round - 1)
      shop.updateModel { $0.visits += 1 }
      #expect(changes.all == Array(1...round), "the call has the new part")
    }
  }

  /// The store's next change notifies, also one of another part.
  @Test func readsByAChildWhosePartIsGoneAreTracked() {
    let session = shop.child(unwrapping: \.session)
    let changes = Recorder<String?>()
    func follow() {
      withObservationTracking {
        _ = session.withModel(\.user)
      } onChange: {
        changes.record(session.model?.user)
      }
    }
    follow()
    shop.updateModel { $0.visits += 1 }
    follow()
    shop.updateModel { $0.session = Session(user: "Ann") }
    #expect(changes.all == [nil, "Ann"])
  }

  @Test func aStoreWhoseChildrenUntrackedCodeReadsHasNoTracker() {
    for kind in ChildRead.allCases { _ = kind.read(shop) }
    #expect(shop.storage.tracker.load(ordering: .acquiring) == 0)
    #expect(!shop.storage.isObserved)
  }

  @Test func giveThePresentPartAndEndAtItsLastState() async {
    let visits = shop.child(\.visits)
    let (threads, each) = (3, Load.count(300))
    let begun = Latch()
    let consumer = Task {
      var seen: [Int] = []
      for await count in Observations({ visits.model }) {
        seen.append(count)
        begun.open()
        if count == threads * each { break }
      }
      return seen
    }
    await begun.opened()
    await onOwnThreads(threads) { _ in
      for _ in 0..<each { visits.updateModel { $0 += 1 } }
    }
    let seen = await consumer.value
    #expect(seen.first == 0)
    #expect(seen == seen.sorted())
  }
}
