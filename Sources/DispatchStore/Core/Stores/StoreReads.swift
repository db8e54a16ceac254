/// The way in which a store's model is read.
public enum StoreReads: Sendable {
  /// Reads take the store's lock.
  ///
  /// They may wait for a reduction in progress, and copy only the value that they return.
  case exclusive
  /// Reads use a snapshot, which each commit replaces by the new model.
  ///
  /// No read waits for a reduction, but for one that Observation tracks: that takes the store's lock, to be registered.
  ///
  /// You can read from any thread, also inside the exclusive section of this store or of another one. You get the
  /// model of the last commit. Reads of child stores and of a handler's context take the store's lock nevertheless, and
  /// so does the check of a condition (`DispatchOptions.when`).
  ///
  /// Each commit pays for it. The snapshot shares the model's copy-on-write storage, so the next commit copies the
  /// parts that it changes. That is cheap for small models, and for large ones with persistent collections. In those,
  /// such as `TreeDictionary` of the package swift-collections, a change copies a path of a few nodes. An `Array` or
  /// a `Dictionary` of 100,000 rows is copied as a whole.
  case published
}
