// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What all calls of a stack have in common.
final class StackCore: Sendable {
  /// The transport that the stack was made with.
  let base: any Transport
  /// The same, with the stack's layers around it.
  private let transport: any Transport
  let configuration: StackConfiguration
  let interceptors: InterceptorChain
  /// Whether the limits of the configuration mean something, so that only those of a call need be checked.
  let hasMeaningfulLimits: Bool
  /// What is added to requests, or why it cannot be.
  private let defaults: Result<StackDefaults?, TransportError>
  private let coders: JSONCoders?

  init(transport: any Transport, configuration: StackConfiguration) {
    base = transport
    self.transport = configuration.layered(transport)
    self.configuration = configuration
    interceptors = InterceptorChain(configuration.interceptors)
    hasMeaningfulLimits =
      (try? configuration.checkLimits()) != nil && (try? configuration.timeouts.check()) != nil
      && (try? configuration.streamTimeouts.check()) != nil
    defaults = Result { () throws(TransportError) in try StackDefaults(configuration) }
    let coders = JSONCoders(encoder: configuration.jsonEncoder, decoder: configuration.jsonDecoder)
    self.coders = coders.encoder == nil && coders.decoder == nil ? nil : coders
    if self.coders != nil { JSONCoders.areUsed.store(true, ordering: .relaxed) }
    for user in [transport] as [Any] + configuration.interceptors {
      (user as? any ClockUser)?.adopt(clock: configuration.timeSource)
    }
  }

  /// Returns the transport for a request: with the layers that the request brings along, where the stack has none.
  func transport(for request: TransferRequest) -> any Transport {
    let uses = request.layerUses
    guard !uses.isEmpty else { return transport }
    var layers = configuration.layers
    var hasMore = false
    // Telemetry has no layer.
    for place in TransportLayerPlace.allCases where place != .telemetry {
      if let use = uses[place] as? any TransportLayerUse, use.complete(&layers) { hasMore = true }
    }
    guard hasMore else { return transport }
    var configuration = configuration
    configuration.layers = layers
    return configuration.layered(base)
  }

  /// Adds the stack's defaults to what a resource made.
  func complete(
    _ request: inout ResourceRequest, by making: BaseRequestMaking<ResourceRequest>
  ) throws(TransportError) {
    if let defaults = try defaults.get() { try defaults.complete(&request, madeOf: making.base?()) }
    if let error = StackDefaults.lacksBase(request) { throw error }
  }

  /// With the stack's coders.
  func coding<Value>(_ body: () throws -> Value) rethrows -> Value {
    // Those of the stack whose hook asks this one are not this one's.
    guard coders != nil || JSONCoders.areOthers else { return try body() }
    return try JSONCoders.$current.withValue(coders) { try body() }
  }

  /// The same, for what may wait.
  func coding<Value: Sendable>(_ body: @Sendable () async throws -> Value) async rethrows -> Value {
    guard coders != nil || JSONCoders.areOthers else { return try await body() }
    return try await JSONCoders.$current.withValue(coders) { try await body() }
  }
}

/// What does not change during a call. It knows nothing of the model's type, so that one piece of code runs every call.
///
/// A value within its ``FetchCall``. Functions of it that every call asks are inlined: others are handed a copy.
struct FetchPlan: Sendable {
  let core: StackCore
  /// The stack's, then the resource's.
  let interceptors: InterceptorChain
  /// The hooks that any of them has, and those of them that may wait.
  let hooks: HookSet
  let waitingHooks: HookSet
  /// Whether one of them asks through the stack.
  let usesStack: Bool
  let baseRequestMaking: BaseRequestMaking<ResourceRequest>
  let options: RequestOptions
  let retryActionPriority: Retry.Action.CompareClosure
  let isStream: Bool
  let acceptance: Acceptance

  /// Which statuses are successes.
  enum Acceptance {
    case successful
    /// 101 too: the transport hands on the connection.
    case upgrade
    /// What follows on another status is asked as ever, but the last answer is a value.
    case all
  }

  fileprivate init(
    core: StackCore, interceptors: InterceptorChain, making: BaseRequestMaking<ResourceRequest>,
    options: RequestOptions, priority: @escaping Retry.Action.CompareClosure, isStream: Bool, acceptance: Acceptance
  ) {
    self.core = core
    self.interceptors = interceptors
    (hooks, waitingHooks) = interceptors.hooks
    usesStack = interceptors.usesStack
    baseRequestMaking = making
    self.options = options
    retryActionPriority = priority
    self.isStream = isStream
    self.acceptance = acceptance
  }

  var configuration: StackConfiguration { _read { yield core.configuration } }

  func timeouts(for options: RequestOptions) -> Timeouts {
    options.timeouts ?? (isStream ? configuration.streamTimeouts : configuration.timeouts)
  }

  /// The request as the transport gets it, with what is left of the time, the code to fail with when that has passed,
  /// and the timeout that it is left of.
  @inline(__always)
  func transferRequest(
    _ request: ResourceRequest, left: Duration?, code: FailureCode = .totalTimeout, of whole: Duration? = nil
  ) -> TransferRequest {
    let options = request.options
    let timeouts = timeouts(for: options)
    return TransferRequest(
      parts: TransferRequest.Parts(
        request: request, delivery: delivery(for: options), connectTimeout: timeouts.connect,
        idleTimeout: timeouts.idle, deadline: left, deadlineCode: code, wholeTimeout: whole,
        allowsResend: request.isIdempotent && request.body.isReplayable,
        maximumErrorBytes: max(0, configuration.maximumErrorBodyBytes),
        dropsRedirectBodies: (options.redirects ?? configuration.redirects).limit > 0))
  }

  @inline(__always)
  private func delivery(for options: RequestOptions) -> TransferRequest.Delivery {
    let maximum = options.maximumBodyBytes ?? (isStream ? nil : configuration.maximumBodyBytes)
    // Collecting cuts the bodies of errors.
    if acceptance == .all { return .streamed(maximumBytes: maximum.map { max(0, $0) }) }
    return isStream
      ? .streamedOnSuccess(
        maximumBytes: maximum.map { max(0, $0) }, errorBytes: max(0, configuration.maximumErrorBodyBytes))
      : .collected(maximumBytes: max(0, maximum ?? 0))
  }

  /// Refuses limits that mean nothing.
  ///
  /// - Throws: code `invalid_option`.
  @inline(__always)
  func checkLimits(of options: RequestOptions) throws(TransportError) {
    guard !core.hasMeaningfulLimits || options.mayDifferFromDefaults else { return }
    try Self.check(timeouts(for: options), options, configuration)
  }

  private static func check(
    _ timeouts: Timeouts, _ options: RequestOptions, _ configuration: StackConfiguration
  ) throws(TransportError) {
    try timeouts.check()
    try StackConfiguration.check("RequestOptions.maximumBodyBytes", options.maximumBodyBytes ?? 0, least: 0)
    try configuration.checkLimits()
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

extension HTTPResource {
  /// Returns the plan of a call. An initializer would be handed a copy of the resource: a reference to each of its
  /// closures.
  @inline(__always)
  func plan(by core: StackCore, isStream: Bool, acceptance: FetchPlan.Acceptance = .successful) -> FetchPlan {
    FetchPlan(
      core: core, interceptors: core.interceptors.followed(by: chain), making: baseRequestMaking,
      options: options, priority: retryActionPriority, isStream: isStream, acceptance: acceptance)
  }
}

extension StackConfiguration {
  fileprivate func checkLimits() throws(TransportError) {
    try Self.check("StackConfiguration.maximumBodyBytes", maximumBodyBytes, least: 0)
    try Self.check("StackConfiguration.maximumErrorBodyBytes", maximumErrorBodyBytes, least: 0)
    try Self.check("StackConfiguration.maximumAttempts", maximumAttempts, least: 1)
    guard maximumRetryAfter >= .zero else {
      throw .refused(
        .invalidOption, "StackConfiguration.maximumRetryAfter is \(maximumRetryAfter.brief), below 0",
        hint: "give a duration of zero or more")
    }
  }

  fileprivate static func check(_ name: StaticString, _ value: Int, least: Int) throws(TransportError) {
    guard value < least else { return }
    throw .refused(.invalidOption, "\(name) is \(value), below the minimum of \(least)", hint: "give \(least) or more")
  }
}
