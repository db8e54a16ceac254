extension Dispatcher {
  /// The type of that name in the module.
  public typealias ActionCoder = DispatchStore::ActionCoder
  /// The type of that name in the module.
  public typealias ActionCodingError = DispatchStore::ActionCodingError
  /// The type of that name in the module.
  public typealias ActionTemplate = DispatchStore::ActionTemplate
  /// The type of that name in the module.
  public typealias CodableAction = DispatchStore::CodableAction
  /// The type of that name in the module.
  public typealias EncodableAction = DispatchStore::EncodableAction
  /// The type of that name in the module.
  public typealias EncodedAction = DispatchStore::EncodedAction
  /// The type of that name in the module.
  public typealias NoPayload = DispatchStore::NoPayload
  /// The type of that name in the module.
  public typealias TemplateAction<Template: DispatchStore::ActionTemplate> =
    DispatchStore::TemplateAction<Template>
}
