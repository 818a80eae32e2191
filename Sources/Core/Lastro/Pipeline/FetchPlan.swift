// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The parts of a call that do not change. It does not depend on the model's type, so that the same code runs all
/// calls.
///
/// It is stored as a value in its ``FetchCall``. Functions that every call uses are members of that class, because a
/// function of the plan may receive a copy of it.
struct FetchPlan: Sendable {
  let core: StackCore
  /// The interceptors of the stack, followed by those of the resource.
  let interceptors: InterceptorChain
  /// The hooks that any interceptor has, and those of them that may wait.
  var hooks: HookSet
  var waitingHooks: HookSet
  /// Whether an interceptor sends requests through the stack.
  let usesStack: Bool
  let baseRequestMaking: BaseRequestMaking<ResourceRequest>
  let options: RequestOptions
  let retryActionPriority: Retry.Action.CompareClosure
  let isStream: Bool
  let acceptance: Acceptance

  /// The statuses that count as a success.
  enum Acceptance {
    case successful
    /// 2xx statuses and 101, after which the transport hands over the connection.
    case upgrade
    /// All statuses. Interceptors are asked about a failure as usual, but the last response is the value of the call.
    case all
  }

  init(
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

  /// Refuses limits that are not valid.
  ///
  /// - Throws: an error with code `invalid_option`.
  func checkLimits(of options: RequestOptions) throws(TransportError) {
    try timeouts(for: options).check()
    try StackConfiguration.check("RequestOptions.maximumBodyBytes", options.maximumBodyBytes ?? 0, least: 0)
    try options.priority?.check()
    try configuration.checkLimits()
  }

  /// Returns the part of a response's body that errors keep for statuses outside 200–299.
  func kept(_ body: Data?) -> Data? {
    guard let body, body.count > configuration.maximumErrorBodyBytes else { return body }
    // Copy the bytes: a slice would retain the whole body.
    return Data(Array(body.prefix(max(0, configuration.maximumErrorBodyBytes))))
  }

  func snippet(_ body: Data?, _ redaction: Redaction) -> BodySnippet? {
    guard configuration.bodySnippetBytes > 0, let body, !body.isEmpty else { return nil }
    return BodySnippet(body, limit: configuration.bodySnippetBytes, redaction: redaction)
  }
}

extension HTTPResource {
  /// Returns the plan of a call. This is not an initializer, because that would receive a copy of the resource and
  /// retain each of its closures.
  @inline(__always)
  func plan(by core: StackCore, isStream: Bool, acceptance: FetchPlan.Acceptance = .successful) -> FetchPlan {
    FetchPlan(
      core: core, interceptors: core.interceptors.followed(by: chain), making: baseRequestMaking,
      options: options, priority: retryActionPriority, isStream: isStream, acceptance: acceptance)
  }
}

extension StackConfiguration {
  /// Refuses limits that are out of range.
  ///
  /// - Throws: an error with code `invalid_option`.
  func checkLimits() throws(TransportError) {
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
