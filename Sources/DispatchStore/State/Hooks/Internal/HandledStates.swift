/// An action that a store has handled, with the model before its first commit and after its last one.
///
/// Without a commit, both are the current model. Commits of other actions in between are included; then
/// `newVersion - oldVersion` is more than `commitCount`.
package struct HandledStates: Sendable {
  package let storeIdentifier: String
  /// The action that ran, after replacement by middlewares, of the store's type.
  package let action: any ActionType
  /// The models, of the store's type.
  package let oldModel: any Sendable
  package let oldVersion: UInt64
  package let newModel: any Sendable
  package let newVersion: UInt64
  /// The number of commits that the action has made.
  package let commitCount: Int
  package let run: StoreRunInfo
}
