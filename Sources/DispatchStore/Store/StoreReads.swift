/// How a store's model is read.
public enum StoreReads: Sendable {
  /// Under the store's lock: a read may wait for a reduction in progress, and copies nothing more than it returns.
  case exclusive
  /// From a snapshot, which each commit replaces by the new model: no read waits for a reduction.
  ///
  /// Reads from any thread, also from inside the exclusive section of this store or of another one, get the model of
  /// the last commit. Each commit pays for it: since the snapshot shares what the model stores by copy-on-write, the
  /// next commit copies the parts that it changes. That is cheap for small models, and for large ones whose
  /// collections are persistent (such as `TreeDictionary` of the package swift-collections), of which a change copies
  /// a path of some nodes; an `Array` or a `Dictionary` of 100,000 rows is copied as a whole.
  case published
}
