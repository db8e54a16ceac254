import Foundation

/// A part of a model whose elements are rows of their own, without the types of the elements.
protocol PersistedPart<Model>: Sendable {
  associatedtype Model: Sendable & Codable

  /// The number under which its rows are saved.
  var number: Int { get }
  /// The means to undo changes of the part in place, for atomic actions.
  var undo: PartUndo { get }

  /// Empties the part.
  func empty(_ model: inout Model)

  /// Makes what one store keeps of the part; called in the store's exclusive section.
  ///
  /// - Parameters:
  ///   - version: The store's version.
  ///   - saved: The version that is saved.
  func makeChanges(
    _ model: UnsafePointer<Model>, _ version: UInt64, savedIn saved: SavedVersion
  ) -> any PartChanges<Model>

  /// Saves all elements.
  func save(
    _ model: Model, _ coder: RowCoder, _ driver: any PersistenceDriver, ofStore store: Int64
  ) throws

  /// Puts the saved elements into the model.
  ///
  /// If the model's own row had elements of the part, they were saved before the part had rows. They stay in the model.
  ///
  /// - Returns: Whether the model had elements, which are to be saved as rows now.
  func load(
    _ model: inout Model, _ coder: RowCoder, _ driver: any PersistenceDriver, ofStore store: Int64
  ) throws -> Bool
}

/// The changes of one part of one store that are in no group yet.
///
/// The store's lock guards what it knows of the last commit, and the persistence's lock what it has kept.
protocol PartChanges<Model>: AnyObject, Sendable {
  associatedtype Model: Sendable & Codable

  /// Reads the changes of a commit that makes a version, in its exclusive section.
  func read(_ model: UnsafePointer<Model>, _ version: UInt64)

  /// Keeps what was read; called under the persistence's lock, where nothing of the user's is released.
  func keep()

  /// Releases what was read and is not kept, or no longer; called outside of the persistence's lock.
  func forgetRead()

  /// Takes what was kept; called under the persistence's lock.
  func take() -> any PartBatch

  /// Ends reading, in the store's exclusive section.
  func end()
}

/// The changes of one part in one group.
protocol PartBatch: Sendable {
  /// Adds the rows that have changed.
  func add(to rows: inout EncodedRows, _ coder: RowCoder) throws
}

/// A dictionary whose elements are rows.
final class DictionaryPart<
  Model: Sendable & Codable, Key: PersistentKey, Value: Sendable & Codable
>: PersistedPart {
  let number: Int
  let path: any WritableKeyPath<Model, TrackedDictionary<Key, Value>> & Sendable
  let place: ModelPart<Model, TrackedDictionary<Key, Value>>
  /// Shared, so that emptying a copy makes no new log.
  private let none = TrackedDictionary<Key, Value>()

  init(
    _ path: any WritableKeyPath<Model, TrackedDictionary<Key, Value>> & Sendable, number: Int
  ) {
    (self.path, place, self.number) = (path, ModelPart(path), number)
  }

  var undo: PartUndo { .dictionary(path) }

  func empty(_ model: inout Model) { model[keyPath: path] = none }

  func makeChanges(
    _ model: UnsafePointer<Model>, _ version: UInt64, savedIn saved: SavedVersion
  ) -> any PartChanges<Model> {
    DictionaryChanges(self, model, LastChanges(before: version, savedIn: saved))
  }

  func save(
    _ model: Model, _ coder: RowCoder, _ driver: any PersistenceDriver, ofStore store: Int64
  ) throws {
    for (key, value) in model[keyPath: path] {
      let row = try self.row(key, coder)
      try driver.save(coder.encode(value, at: { "\(key)" }), at: row, ofStore: store)
    }
  }

  func load(
    _ model: inout Model, _ coder: RowCoder, _ driver: any PersistenceDriver, ofStore store: Int64
  ) throws -> Bool {
    var elements: [Key: Value] = [:]
    try driver.forEachRow(ofStore: store, part: number) { text, row in
      guard let key = Key.key(ofPersistentText: text) else {
        throw coder.notDecodable(number, text, "The key is no \(Key.self).")
      }
      // Otherwise the element's next change would go to another row, and leave this one.
      if key.savedText.map({ $0.utf8.elementsEqual(text.utf8) }) != true {
        throw coder.notDecodable(
          number, text,
          "The program writes this key as \"\(key.persistentText)\": set the row's key to that.")
      }
      let element = try coder.decode(Value.self, row, number, text)
      guard elements.updateValue(element, forKey: key) == nil else {
        throw coder.notDecodable(number, text, "Another row has an equal key.")
      }
    }
    let areInModel = !model[keyPath: path].isEmpty
    if areInModel, !elements.isEmpty {
      throw coder.notDecodable(
        0, "", "It has elements of dictionary \(number), which has rows of its own, too.")
    }
    if !areInModel { model[keyPath: path] = TrackedDictionary(elements) }
    return areInModel
  }

  func row(_ key: Key, _ coder: RowCoder) throws -> SavedRow {
    guard let text = key.savedText else { throw coder.noText(for: key) }
    return SavedRow(part: number, key: text)
  }
}

/// The changes of a dictionary, those of the commit in progress apart.
final class DictionaryChanges<
  Model: Sendable & Codable, Key: PersistentKey, Value: Sendable & Codable
>: PartChanges, @unchecked Sendable {
  // because the two locks guard its state
  let part: DictionaryPart<Model, Key, Value>
  /// The versions of the elements that were changed last; the store's lock guards it.
  private(set) var lastChanges: LastChanges<Key>
  private var reader = ChangeReader()
  /// The changes of the commit in progress, and of those before it.
  private var now: DictionaryBatch<Model, Key, Value>
  private var kept: DictionaryBatch<Model, Key, Value>

  init(
    _ part: DictionaryPart<Model, Key, Value>, _ model: UnsafePointer<Model>,
    _ lastChanges: LastChanges<Key>
  ) {
    (self.part, self.lastChanges) = (part, lastChanges)
    (now, kept) = (DictionaryBatch(part: part), DictionaryBatch(part: part))
    reader.begin(part.place.read(of: model) { $0.pointee.log })
  }

  func read(_ model: UnsafePointer<Model>, _ version: UInt64) {
    part.place.read(of: UnsafeRawPointer(model)) { dictionary in
      if let changes = dictionary.pointee.takeChanges(for: &reader) {
        now.entries = changes
        if !isPlanted(.changeMissed) {
          for change in changes { lastChanges.note(change.key, version) }
        }
      } else {
        now.whole = dictionary.pointee.dictionary
        lastChanges.noteAll(version)
      }
    }
  }

  func keep() {
    if now.whole != nil || kept.isEmpty {
      swap(&kept, &now)
    } else {
      kept.entries += now.entries
    }
  }

  func forgetRead() { now = DictionaryBatch(part: part) }

  func take() -> any PartBatch {
    defer { kept = DictionaryBatch(part: part) }
    return kept
  }

  func end() { reader.end() }
}

/// The changes of a dictionary in one commit, or in one group.
struct DictionaryBatch<
  Model: Sendable & Codable, Key: PersistentKey, Value: Sendable & Codable
>: PartBatch {
  let part: DictionaryPart<Model, Key, Value>
  /// The elements of a dictionary that was assigned as a whole, before the entries.
  var whole: [Key: Value]?
  /// The elements that were changed, in order; several entries may have the same key.
  var entries: [ElementChange<Key, Value>] = []

  var isEmpty: Bool { whole == nil && entries.isEmpty }

  /// The elements that were changed, each once, with the first old and the last new value.
  var elements: [ElementChange<Key, Value>] { entries.mergedByKey() }

  func add(to rows: inout EncodedRows, _ coder: RowCoder) throws {
    if let whole {
      var encoded: [String: Data] = [:]
      for (key, value) in whole {
        encoded[try part.row(key, coder).key] = try coder.encode(value, at: { "\(key)" })
      }
      rows.whole[part.number] = encoded
    }
    for element in elements {
      let value = try element.new.map { new in try coder.encode(new, at: { "\(element.key)" }) }
      rows.changed.append((try part.row(element.key, coder), value))
    }
  }
}
