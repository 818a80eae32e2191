// SPDX-License-Identifier: Apache-2.0

extension RequestOptions {
  /// Returns these options, with the values of `base` for those that are not set. Sets are merged.
  func overriding(_ base: RequestOptions) -> RequestOptions {
    guard mayDifferFromDefaults else { return base }
    guard base.mayDifferFromDefaults else { return self }
    var result = base
    if let operation { result.operation = operation }
    if let timeouts { result.timeouts = timeouts }
    if let maximumBodyBytes { result.maximumBodyBytes = maximumBodyBytes }
    if let redirects { result.redirects = redirects }
    if idempotency != .byMethod { result.idempotency = idempotency }
    if let connection { result.connection = connection }
    if !sensitiveHeaders.isEmpty { result.sensitiveHeaders.formUnion(sensitiveHeaders) }
    if !sensitiveQueryItems.isEmpty { result.sensitiveQueryItems.formUnion(sensitiveQueryItems) }
    if !shownQueryItems.isEmpty { result.shownQueryItems.formUnion(shownQueryItems) }
    if let progress { result.progress = progress }
    if !secrets.isEmpty { result.secrets.formUnion(secrets) }
    if requiresBody { result.requiresBody = true }
    if endsWithResponse { result.endsWithResponse = true }
    result.layerUses.override(by: layerUses)
    if let hostField { result.hostField = hostField }
    if let onInterimResponse { result.onInterimResponse = onInterimResponse }
    if let priority { result.priority = priority }
    return result
  }
}
