import Foundation

/// A part of a model whose elements are rows of their own, without the types of the elements.
class PersistedPart<Model: Sendable & Codable>: @unchecked Sendable {
  // because it has only constants
  /// The number under which its rows are saved.
  let number: Int

  init(number: Int) { self.number = number }

  /// Empties the part.
  func empty(_ model: inout Model) { fatalError("PersistedPart is abstract.") }

  /// Makes what one store keeps of the part; called in the store's exclusive section.
  ///
  /// - Parameters:
  ///   - version: The store's version.
  ///   - saved: The version that is saved.
  func makeChanges(
    _ model: UnsafePointer<Model>, _ version: UInt64, savedIn saved: SavedVersion
  ) -> PartChanges<Model> {
    fatalError("PersistedPart is abstract.")
  }

  /// The means to undo changes of the part in place, for atomic actions.
  var undo: PartUndo { fatalError("PersistedPart is abstract.") }

  /// Encodes all elements, one after the other.
  func forEachRow(
    of model: Model, _ coder: RowCoder, _ body: (SavedRow, Data) throws -> Void
  ) throws {
    fatalError("PersistedPart is abstract.")
  }

  /// Makes a loader of saved elements.
  func makeLoader(_ coder: RowCoder) -> PartLoader<Model> {
    fatalError("PersistedPart is abstract.")
  }
}

/// The changes of one part of one store that are in no group yet.
///
/// The store's lock guards what it knows of the last commit, and the persistence's lock what it has kept.
class PartChanges<Model: Sendable & Codable>: @unchecked Sendable {
  /// Reads the changes of a commit that makes a version, in its exclusive section.
  func read(_ model: UnsafePointer<Model>, _ version: UInt64) {
    fatalError("PartChanges is abstract.")
  }

  /// Keeps what was read; called under the persistence's lock, where nothing of the user's is released.
  func keep() { fatalError("PartChanges is abstract.") }

  /// Releases what was read and is not kept, or no longer; called outside of the persistence's lock.
  func forgetRead() { fatalError("PartChanges is abstract.") }

  /// Takes what was kept; called under the persistence's lock.
  func take() -> PartBatch { fatalError("PartChanges is abstract.") }

  /// Ends reading, in the store's exclusive section.
  func end() { fatalError("PartChanges is abstract.") }
}

/// The changes of one part in one group.
class PartBatch: @unchecked Sendable {
  /// Adds the rows that have changed.
  func add(to rows: inout EncodedRows, _ coder: RowCoder) throws {
    fatalError("PartBatch is abstract.")
  }
}

/// Collects loaded elements of one part.
class PartLoader<Model: Sendable & Codable> {
  func add(_ key: String, _ value: Data) throws { fatalError("PartLoader is abstract.") }

  /// Puts the elements into the model.
  ///
  /// If the model's own row had elements of the part, they were saved before the part had rows. They stay in the model.
  ///
  /// - Returns: Whether the model had elements, which are to be saved as rows now.
  func finish(_ model: inout Model) throws -> Bool { fatalError("PartLoader is abstract.") }
}

/// A dictionary whose elements are rows.
final class DictionaryPart<
  Model: Sendable & Codable, Key: PersistentKey, Value: Sendable & Codable
>:
  PersistedPart<Model>, @unchecked Sendable
{
  let path: any WritableKeyPath<Model, TrackedDictionary<Key, Value>> & Sendable
  let place: ModelPart<Model, TrackedDictionary<Key, Value>>
  /// Shared, so that emptying a copy makes no new log.
  private let none = TrackedDictionary<Key, Value>()

  init(
    _ path: any WritableKeyPath<Model, TrackedDictionary<Key, Value>> & Sendable, number: Int
  ) {
    (self.path, place) = (path, ModelPart(path))
    super.init(number: number)
  }

  override var undo: PartUndo { .dictionary(path) }

  override func empty(_ model: inout Model) { model[keyPath: path] = none }

  override func makeChanges(
    _ model: UnsafePointer<Model>, _ version: UInt64, savedIn saved: SavedVersion
  ) -> PartChanges<Model> {
    DictionaryChanges(self, model, LastChanges(before: version, savedIn: saved))
  }

  override func forEachRow(
    of model: Model, _ coder: RowCoder, _ body: (SavedRow, Data) throws -> Void
  ) throws {
    for (key, value) in model[keyPath: path] {
      try body(row(key, coder), coder.encode(value, at: { "\(key)" }))
    }
  }

  func row(_ key: Key, _ coder: RowCoder) throws -> SavedRow {
    guard let text = key.savedText else { throw coder.noText(for: key) }
    return SavedRow(part: number, key: text)
  }

  override func makeLoader(_ coder: RowCoder) -> PartLoader<Model> { DictionaryLoader(self, coder) }
}

private final class DictionaryLoader<
  Model: Sendable & Codable, Key: PersistentKey, Value: Sendable & Codable
>: PartLoader<Model> {
  private let part: DictionaryPart<Model, Key, Value>
  private let coder: RowCoder
  private var elements: [Key: Value] = [:]

  init(_ part: DictionaryPart<Model, Key, Value>, _ coder: RowCoder) {
    (self.part, self.coder) = (part, coder)
  }

  override func add(_ key: String, _ value: Data) throws {
    guard let typed = Key.key(ofPersistentText: key) else {
      throw coder.notDecodable(part.number, key, "The key is no \(Key.self).")
    }
    let element = try coder.decode(Value.self, value, part.number, key)
    guard elements.updateValue(element, forKey: typed) == nil else {
      throw coder.notDecodable(part.number, key, "Another row has an equal key.")
    }
  }

  override func finish(_ model: inout Model) throws -> Bool {
    let areInModel = !model[keyPath: part.path].isEmpty
    if areInModel, !elements.isEmpty {
      throw coder.notDecodable(
        0, "", "It has elements of dictionary \(part.number), which has rows of its own, too.")
    }
    if !areInModel { model[keyPath: part.path] = TrackedDictionary(elements) }
    return areInModel
  }
}

/// The changes of a dictionary, those of the commit in progress apart.
final class DictionaryChanges<
  Model: Sendable & Codable, Key: PersistentKey, Value: Sendable & Codable
>: PartChanges<Model>, @unchecked Sendable {
  let part: DictionaryPart<Model, Key, Value>
  /// The versions of the elements that were changed last; the store's lock guards it.
  private(set) var lastChanges: LastChanges<Key>
  private var reader: ChangeReader
  /// The changes of the commit in progress, and of those before it.
  private var now = DictionaryBatch<Key, Value>.Changes()
  private var kept = DictionaryBatch<Key, Value>.Changes()

  init(
    _ part: DictionaryPart<Model, Key, Value>, _ model: UnsafePointer<Model>,
    _ lastChanges: LastChanges<Key>
  ) {
    (self.part, self.lastChanges) = (part, lastChanges)
    var reader = ChangeReader()
    reader.begin(part.place.read(of: model) { $0.pointee.log })
    self.reader = reader
  }

  override func read(_ model: UnsafePointer<Model>, _ version: UInt64) {
    part.place.read(of: UnsafeRawPointer(model)) { dictionary in
      if let changes = dictionary.pointee.takeChanges(for: &reader) {
        now.entries += changes
        if !isPlanted(.changeMissed) { lastChanges.note(changes.lazy.map { $0.key }, version) }
      } else {
        now.whole = dictionary.pointee.dictionary
        lastChanges.noteAll(version)
      }
    }
  }

  override func keep() {
    if now.whole != nil || kept.isEmpty {
      swap(&kept, &now)
    } else {
      kept.entries += now.entries
    }
  }

  override func forgetRead() { now = DictionaryBatch.Changes() }

  override func take() -> PartBatch {
    let batch = DictionaryBatch(part: part.number, kept) { [part] in try part.row($0, $1) }
    kept = DictionaryBatch.Changes()
    return batch
  }

  override func end() { reader.end() }
}

/// The changes of a dictionary in one group.
final class DictionaryBatch<Key: PersistentKey, Value: Sendable & Codable>: PartBatch,
  @unchecked Sendable
{
  struct Changes {
    /// The elements of a dictionary that was assigned as a whole, before the entries.
    var whole: [Key: Value]?
    /// The elements that were changed, in order; several entries may have the same key.
    var entries: [ElementChange<Key, Value>] = []

    var isEmpty: Bool { whole == nil && entries.isEmpty }
  }

  let part: Int
  let changes: Changes
  private let row: (Key, RowCoder) throws -> SavedRow

  init(part: Int, _ changes: Changes, row: @escaping (Key, RowCoder) throws -> SavedRow) {
    (self.part, self.changes, self.row) = (part, changes, row)
  }

  /// The elements that were changed, each once, with the first old and the last new value.
  var elements: [ElementChange<Key, Value>] { changes.entries.mergedByKey() }

  override func add(to rows: inout EncodedRows, _ coder: RowCoder) throws {
    if let whole = changes.whole {
      var encoded: [String: Data] = [:]
      for (key, value) in whole {
        encoded[try row(key, coder).key] = try coder.encode(value, at: { "\(key)" })
      }
      rows.whole[part] = encoded
    }
    for element in elements {
      let value = try element.new.map { new in try coder.encode(new, at: { "\(element.key)" }) }
      rows.changed.append((try row(element.key, coder), value))
    }
  }
}
