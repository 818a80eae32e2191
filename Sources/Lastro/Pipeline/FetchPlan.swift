// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What does not change during a call. It knows nothing of the model's type, so that one piece of code runs every call.
final class FetchPlan: Sendable {
  let transport: any Transport
  private let sharedConfiguration: CopyOnWrite<StackConfiguration>
  var configuration: StackConfiguration { _read { yield sharedConfiguration.value } }
  /// The stack's, then the resource's.
  let interceptors: InterceptorChain
  /// The hooks that any of them has, and those of them that may wait.
  let hooks: HookSet
  let waitingHooks: HookSet
  let baseRequestMaking: BaseRequestMaking<ResourceRequest>
  let options: RequestOptions
  let retryActionPriority: Retry.Action.CompareClosure
  let decodeError: @Sendable (Data?, ResourceResponse) throws -> (any Error)?
  let isStream: Bool
  /// Whether 101 is a success: the transport hands on the connection.
  let acceptsUpgrade: Bool
  /// Makes the value of a 2xx answer, which the caller knows how to use.
  let finish: @Sendable (ResponseBody, ResourceResponse) throws -> FetchedValue

  init<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, transport: any Transport,
    configuration: CopyOnWrite<StackConfiguration>, interceptors: InterceptorChain, isStream: Bool,
    acceptsUpgrade: Bool = false, finish: @escaping @Sendable (ResponseBody, ResourceResponse) throws -> FetchedValue
  ) {
    self.transport = transport
    sharedConfiguration = configuration
    self.interceptors = interceptors.followed(by: resource.interceptors)
    (hooks, waitingHooks) = self.interceptors.hooks
    baseRequestMaking = resource.baseRequestMaking
    options = resource.options
    retryActionPriority = resource.retryActionPriority
    let errorDecoding = resource.errorDecoding
    decodeError = { try errorDecoding.decode($0, $1) }
    self.isStream = isStream
    self.acceptsUpgrade = acceptsUpgrade
    self.finish = finish
  }

  func timeouts(for options: RequestOptions) -> Timeouts {
    options.timeouts ?? (isStream ? configuration.streamTimeouts : configuration.timeouts)
  }

  func delivery(for options: RequestOptions) -> TransferRequest.Delivery {
    isStream
      ? .streamedOnSuccess(
        maximumBytes: options.maximumBodyBytes.map { max(0, $0) },
        errorBytes: max(0, configuration.maximumErrorBodyBytes))
      : .collected(maximumBytes: max(0, options.maximumBodyBytes ?? configuration.maximumBodyBytes))
  }

  /// Refuses limits that mean nothing.
  ///
  /// - Throws: code `invalid_option`.
  func checkLimits(of options: RequestOptions) throws(TransportError) {
    try timeouts(for: options).check()
    try Self.check("RequestOptions.maximumBodyBytes", options.maximumBodyBytes ?? 0, least: 0)
    try Self.check("StackConfiguration.maximumBodyBytes", configuration.maximumBodyBytes, least: 0)
    try Self.check("StackConfiguration.maximumErrorBodyBytes", configuration.maximumErrorBodyBytes, least: 0)
    try Self.check("StackConfiguration.maximumAttempts", configuration.maximumAttempts, least: 1)
    guard configuration.maximumRetryAfter >= .zero else {
      throw .refused(
        .invalidOption, "StackConfiguration.maximumRetryAfter is \(configuration.maximumRetryAfter.brief), below 0",
        hint: "give a duration of zero or more")
    }
  }

  private static func check(_ name: StaticString, _ value: Int, least: Int) throws(TransportError) {
    guard value < least else { return }
    throw .refused(.invalidOption, "\(name) is \(value), below the minimum of \(least)", hint: "give \(least) or more")
  }

  /// What an error keeps of the body of an answer outside 200–299.
  func kept(_ body: Data?) -> Data? {
    guard let body, body.count > configuration.maximumErrorBodyBytes else { return body }
    // A copy: a slice would hold the whole.
    return Data(Array(body.prefix(max(0, configuration.maximumErrorBodyBytes))))
  }

  func snippet(_ body: Data?, _ redaction: Redaction) -> BodySnippet? {
    guard configuration.bodySnippetBytes > 0, let body, !body.isEmpty else { return nil }
    return BodySnippet(body, limit: configuration.bodySnippetBytes, redaction: redaction)
  }
}

/// What a call made, as an object that only its caller can open.
class FetchedValue: @unchecked Sendable {
  // Sendable because subclasses hold nothing but a constant of a Sendable type.
  final class Of<Value: Sendable>: FetchedValue, @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
  }

  /// To be asked for the type that it was made of.
  func open<Value: Sendable>(as type: Value.Type) -> Value { unsafeDowncast(self, to: Of<Value>.self).value }
}
