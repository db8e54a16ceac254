import DispatchStore
import DispatchStorePersistence
import Foundation

/// Mistakes in a program, with the message that each gets.
enum BadInput {
  struct Weights: ModelType, Codable { var all = TrackedDictionary<String, Double>() }
  struct Weigh: ActionType { let key: String, weight: Double }
  struct NoCurrency: Error {}

  /// A coder that refuses NaN, unlike the default one.
  struct StrictCoder: PersistenceCoder {
    func encode(_ value: some Encodable) throws -> Data { try JSONEncoder().encode(value) }
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
      try JSONDecoder().decode(type, from: data)
    }
  }

  /// Saves NaN; prints what the dispatch, and the next one, get.
  static func saveNaN(_ database: PersistenceDatabase) async throws {
    let dispatcher = Dispatcher(
      name: "scales", persistence: try await Persistence(database, coder: StrictCoder()))
    let scales = try await dispatcher.register(
      store: Store(identifier: "weights", model: Weights()) {
        On(Weigh.self) { weights, action in weights.all[action.key] = action.weight }
      }, persisted: .elements(\.all))
    for weight in [Double.nan, 1] {
      let result = await scales.send(Weigh(key: "tea", weight: weight))
      guard let error = result.dispatchError else { return say("error none") }
      say("error \(error.code): \(error.message)")
    }
  }

  /// Registers a store with version 2 of its type.
  static func migrate(_ database: PersistenceDatabase, by migration: Bool) async throws {
    let dispatcher = Dispatcher(name: "bank", persistence: try await Persistence(database))
    let type =
      migration
      ? PersistedType("giro", version: 2) { _ in throw NoCurrency() }
      : PersistedType("giro", version: 2)
    try await dispatcher.register(
      store: makeStore("giro", Giro()), persisted: .elements(\.all), as: type)
  }

  /// Registers a store whose rows are of a type with another name.
  static func rename(_ database: PersistenceDatabase) async throws {
    let dispatcher = Dispatcher(name: "bank", persistence: try await Persistence(database))
    try await dispatcher.register(
      store: makeStore("giro", Giro()), persisted: .elements(\.all), as: PersistedType("accounts"))
  }
}
