import DispatchStore

/// An element that observers follow.
struct Parcel: Hashable, Sendable, Identifiable, Codable {
  var id = 0
  var amount = 0
  var lines: [String] = []
  /// With this one the size is no multiple of the stride.
  var isSent = false
}

/// A model with the same parcels in all kinds of collections.
struct ParcelBook: ModelType, Codable {
  var note = ""
  var parcels = TrackedDictionary<Int, Parcel>()
  var plain: [Int: Parcel] = [:]
  var list: [Parcel] = []

  /// Reads through a getter, so that no offset is known.
  var computed: TrackedDictionary<Int, Parcel> {
    get { parcels }
    set { parcels = newValue }
  }
}

struct ParcelFailure: Error {}

enum ParcelAction: ActionType, Equatable {
  case put(Int, Int)
  case remove(Int)
  /// Puts, then throws.
  case fail(Int, Int)
  /// Puts, then says that nothing has changed.
  case silent(Int, Int)
  /// Puts; no observer is notified.
  case quiet(Int, Int)
}

final class ParcelReducer: Reducer<ParcelBook, ParcelAction> {
  override func reduce(into book: inout ParcelBook, action: ParcelAction) throws {
    switch action {
    case .put(let id, let amount), .quiet(let id, let amount):
      book.put(id, amount)
    case .remove(let id):
      book.put(id, nil)
    case .fail(let id, let amount):
      book.put(id, amount)
      throw ParcelFailure()
    case .silent(let id, let amount):
      book.put(id, amount)
      unchanged()
    }
  }

  override func shouldNotifyObservers(
    for action: ParcelAction, in store: Store<ParcelBook, ParcelAction>
  ) -> Bool {
    if case .quiet = action { false } else { true }
  }
}

extension ParcelBook {
  /// Puts an parcel into all collections, or removes it from them.
  mutating func put(_ id: Int, _ amount: Int?) {
    let parcel = amount.map { Parcel(id: id, amount: $0) }
    parcels[id] = parcel
    plain[id] = parcel
    list.removeAll { $0.id == id }
    if let parcel { list.append(parcel) }
  }
}

typealias ParcelStore = Store<ParcelBook, ParcelAction>
typealias ParcelChange = Change<Parcel?, ParcelAction>
typealias ParcelDelta = KeyedDelta<Int, Parcel>

extension Store where Model == ParcelBook, Action == ParcelAction {
  static func parcels(_ book: ParcelBook = ParcelBook()) -> ParcelStore {
    ParcelStore(identifier: "parcels", model: book, reducer: ParcelReducer())
  }
}

/// The collections of the book.
enum ParcelPath: CaseIterable, Sendable {
  case tracked, computed, plain, list

  /// Observes one parcel there.
  func observe(
    _ store: ParcelStore, id: Int, initial: Bool = false, on queue: ObserverDelivery = .inline,
    _ body: @escaping @Sendable (ParcelChange) -> Void
  ) -> ObserverToken {
    switch self {
    case .tracked: observe(store, \.parcels, id, initial, queue, body)
    case .computed: observe(store, \.computed, id, initial, queue, body)
    case .plain: observe(store, \.plain, id, initial, queue, body)
    case .list: observe(store, \.list, id, initial, queue, body)
    }
  }

  private func observe<Elements: KeyedCollection & Sendable>(
    _ store: ParcelStore, _ path: any KeyPath<ParcelBook, Elements> & Sendable, _ id: Int,
    _ initial: Bool, _ queue: ObserverDelivery, _ body: @escaping @Sendable (ParcelChange) -> Void
  ) -> ObserverToken where Elements.ElementKey == Int, Elements.ElementValue == Parcel {
    store.observe(.element(path, id), initial: initial, on: queue, body)
  }

  /// Observes the deltas of all parcels there.
  func observeDeltas(
    _ store: ParcelStore, initial: Bool = false, on queue: ObserverDelivery = .inline,
    _ body: @escaping @Sendable (ParcelDelta) -> Void
  ) -> ObserverToken {
    switch self {
    case .tracked: deltas(store, \.parcels, initial, queue, body)
    case .computed: deltas(store, \.computed, initial, queue, body)
    case .plain: deltas(store, \.plain, initial, queue, body)
    case .list: deltas(store, \.list, initial, queue, body)
    }
  }

  private func deltas<Elements: KeyedCollection & Sendable>(
    _ store: ParcelStore, _ path: any KeyPath<ParcelBook, Elements> & Sendable, _ initial: Bool,
    _ queue: ObserverDelivery, _ body: @escaping @Sendable (ParcelDelta) -> Void
  ) -> ObserverToken where Elements.ElementKey == Int, Elements.ElementValue == Parcel {
    store.observe(.deltas(path), initial: initial, on: queue) { body($0.value) }
  }

  /// The parcels there.
  func parcels(in book: ParcelBook) -> [Int: Parcel] {
    switch self {
    case .tracked, .computed: book.parcels.dictionary
    case .plain: book.plain
    case .list: book.list.valuesByKey
    }
  }
}
