import Dispatch
import DispatchStore
import DispatchStoreTesting
import Testing

/// Many threads that change, read, observe and cancel at once.
@Suite(.timeLimit(.minutes(10)))
struct ElementContentionTests {
  private static let threads = 8
  private static let ids = 16
  private let store = ParcelStore.parcels()

  /// Each thread: changes, snapshots that it holds and changes itself, and observers that come and go.
  private func run(_ commits: Int) async {
    let store = store
    await onOwnThreads(Self.threads) { index in
      var dice = SeededGenerator(seed: UInt64(index))
      var (snapshot, tokens): (ParcelBook?, [ObserverToken]) = (nil, [])
      for _ in 0..<commits {
        switch dice.roll(16) {
        case 0:
          snapshot = store.model
        case 1:
          snapshot?.parcels[dice.roll(Self.ids)]?.amount += 1
        case 2:
          tokens.append(
            store.observe(.element(\.parcels, dice.roll(Self.ids)), initial: true) { _ in })
          if tokens.count > 3 { tokens.removeFirst().cancel() }
        case 3:
          store.observe(.deltas(\.parcels), initial: true) { _ in }.cancel()
        default:
          let (id, amount) = (dice.roll(Self.ids), dice.roll(1_000))
          store.updateModel { $0.parcels[id] = amount < 200 ? nil : Parcel(id: id, amount: amount) }
        }
      }
    }
    store.updateModel { book in
      for id in 0..<Self.ids { book.parcels[id] = Parcel(id: id, amount: -1) }
    }
  }

  @Test func eachElementsObserversSeeItsHistory() async {
    let (histories, queue) = (Recorder<(Int, ParcelChange)>(), DispatchQueue(label: "elements"))
    let ends = EventCount(of: 2 * Self.ids)
    let tokens = (0..<Self.ids).flatMap { id in
      [
        store.observe(.element(\.parcels, id), initial: true) { change in
          histories.record((id, change))
          if change.value?.amount == -1 { ends.add() }
        },
        store.observe(.element(\.parcels, id), initial: true, on: .queue(queue)) { change in
          histories.record((id + Self.ids, change))
          if change.value?.amount == -1 { ends.add() }
        },
      ]
    }
    await run(Load.count(1_000, long: 40_000))
    await ends.full()
    let all = Dictionary(grouping: histories.all, by: \.0).mapValues { $0.map(\.1) }
    for (observer, changes) in all {
      for (before, after) in zip(changes, changes.dropFirst()) {
        #expect(before.value == after.old ?? nil && before.version < after.version, "\(observer)")
        #expect((after.old ?? nil) != after.value)
      }
    }
    for id in 0..<Self.ids {
      #expect(all[id]?.map(\.version) == all[id + Self.ids]?.map(\.version))
      #expect(all[id]?.map(\.value) == all[id + Self.ids]?.map(\.value))
    }
    withExtendedLifetime(tokens) {}
  }

  @Test func deltasGiveEachVersionOfTheCollection() async {
    let (inline, queued) = (ParcelCopy(), ParcelCopy())
    let (queue, wrong) = (DispatchQueue(label: "deltas"), EventCount(of: .max))
    let tokens = [
      store.observe(.deltas(\.parcels)) { inline.take($0.value) },
      store.observe(.deltas(\.parcels), on: .queue(queue)) { queued.take($0.value) },
      store.observe(.select(StateSelector { $0.parcels.dictionary })) { change in
        if inline.copy != change.value { wrong.add() }
      },
    ]
    await run(Load.count(1_000, long: 40_000))
    await queued.reached(store.version)
    #expect(wrong.count == 0)
    #expect(inline.copy == store.model.parcels.dictionary)
    #expect(queued.copy == inline.copy)
    for deltas in [inline.deltas, queued.deltas] {
      #expect(deltas.allSatisfy { !$0.isReset })
      for (before, after) in zip(deltas, deltas.dropFirst()) {
        #expect(before.versions.upperBound < after.versions.lowerBound)
      }
    }
    withExtendedLifetime(tokens) {}
  }

  /// 8 lanes: changes are left to the notifier, and delivered in commit order all the same.
  @Test func inLanesToo() async {
    let (dispatcher, store) = (Dispatcher(), store)
    dispatcher.register(store: store)
    let (copy, last) = (ParcelCopy(), Recorder<ParcelChange>())
    let tokens = [
      store.observe(.deltas(\.parcels)) { copy.take($0.value) },
      store.observe(.element(\.parcels, 3)) { last.record($0) },
    ]
    let count = Load.count(500, long: 5_000)
    await onOwnThreads(Self.threads) { lane in
      for step in 0..<count {
        dispatcher.dispatch(
          action: ParcelAction.put(step % Self.ids, step), mode: .serial(lane: lane))
      }
    }
    for lane in 0..<Self.threads {
      _ = await dispatcher.dispatch(
        action: ParcelAction.put(3, -lane - 1), mode: .serial(lane: lane)
      ).result
    }
    #expect(copy.copy == store.model.parcels.dictionary)
    #expect(last.all.last?.value == store.model.parcels[3])
    for (before, after) in zip(last.all, last.all.dropFirst()) {
      #expect(before.value == after.old ?? nil)
    }
    withExtendedLifetime(tokens) {}
  }
}
