/// How the state of a store is saved: as one row, or with a row for each element of large dictionaries.
public struct PersistedForm<Model: Sendable & Codable>: Sendable {
  let parts: [any PersistedPart<Model>]

  /// Saves the model as one row, which each commit that changes the model writes anew.
  public static var model: PersistedForm { PersistedForm(parts: []) }

  /// Saves each element of these dictionaries as a row of its own, and the rest of the model as another.
  ///
  /// A commit writes only the elements that it has touched. Dictionaries are numbered in the order in which you name
  /// them: add new ones at the end. `Model` is encoded with these dictionaries empty.
  ///
  /// A dictionary that you assign as a whole is compared with all of its saved rows; `replaceContents(with:)` is faster.
  ///
  /// Name stored properties without `didSet` or `willSet`. Any other is set whenever the model is saved, loaded, or
  /// changed by an atomic action, and what its code changes is saved, too.
  ///
  /// - Precondition: Each dictionary is named once, and is in no object.
  public static func elements<each Key: PersistentKey, each Value: Sendable & Codable>(
    _ paths: repeat any WritableKeyPath<Model, TrackedDictionary<each Key, each Value>> & Sendable
  ) -> PersistedForm {
    var parts: [any PersistedPart<Model>] = []
    repeat parts.append(DictionaryPart(each paths, number: parts.count + 1))
    let form = PersistedForm(parts: parts)
    // Making the means to undo a part stops the program if the dictionary is in an object.
    let named = form.paths
    if Set(named).count < named.count {
      stopProgram(
        """
        persisted: .elements(…) names a dictionary twice: \(named). It would have two rows for each element, which \
        can't be loaded. Name each once.
        """)
    }
    return form
  }

  private var paths: [AnyKeyPath] { parts.map { $0.undo.path as AnyKeyPath } }

  func hasSameRows(as other: PersistedForm) -> Bool { paths == other.paths }

  /// Lets atomic actions undo changes of its dictionaries in place, whether the store is saved or stays in memory.
  func undoesInPlace<Action: ActionType>(in store: Store<Model, Action>) {
    for part in parts { store.storage.addUndo(of: part.undo) }
  }

  /// Returns a copy of the model in which these dictionaries are empty.
  func hollowed(_ model: Model) -> Model {
    if parts.isEmpty { return model }
    var copy = model
    for part in parts { part.empty(&copy) }
    return copy
  }
}

/// The name and the version of a persisted type, and the ways from older versions to it.
///
///     let type = PersistedType("orders", version: 2) { row in
///       guard row.version == 1, row.part == 1 else { return }
///       row.value["currency"] = "EUR"
///     }
///
/// The name is yours, so that you can rename the Swift type. Count the version up whenever a saved row can no longer
/// be decoded.
public struct PersistedType: Sendable {
  let name: String
  let version: Int
  let migrate: (@Sendable (inout PersistedRow) throws -> Void)?

  /// Names a persisted type.
  ///
  /// - Parameters:
  ///   - name: The name of the type, for good.
  ///   - version: The version that this program writes: at least 1, and at most 2,147,483,647.
  ///   - migrate: Takes a row from `row.version` to the next version. Called for each row of an older version when the
  ///     store is registered, once for each version, all in one transaction. Called on the thread that writes:
  ///     it must not wait for a dispatch, since saving would wait for it.
  public init(
    _ name: String, version: Int = 1,
    migrate: (@Sendable (inout PersistedRow) throws -> Void)? = nil
  ) {
    if version < 1 || version > Int32.max {
      stopProgram(
        """
        The persisted type "\(name)" can't have version \(version): a database keeps versions up to \(Int32.max). Count \
        them up from 1.
        """)
    }
    (self.name, self.version, self.migrate) = (name, version, migrate)
  }

  func isSame(as other: PersistedType) -> Bool {
    (name, version) == (other.name, other.version)
  }
}

/// A saved row during a migration.
public struct PersistedRow: Sendable {
  /// The version that the row has now.
  public internal(set) var version: Int
  /// 0 for the model, 1 for the elements of the first dictionary, and so on.
  public let part: Int
  /// The element's key; empty for the model.
  public let key: String
  /// The row's value, as JSON: `row.value["name"]` reads and sets a property of an object.
  ///
  /// The elements of an array can be read by index; to change one, set all of the array.
  public var value: PlainValue
}
