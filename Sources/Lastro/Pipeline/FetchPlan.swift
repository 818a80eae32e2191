// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What does not change during a call.
struct FetchPlan<Output: Sendable>: Sendable {
  let transport: any Transport
  let configuration: StackConfiguration
  /// The stack's, then the resource's.
  let interceptors: [any HTTPResourceInterceptor]
  /// Whether any of their hooks may wait.
  let hooksWait: Bool
  let baseRequestMaking: BaseRequestMaking<ResourceRequest>
  let options: RequestOptions
  let retryActionPriority: Retry.Action.CompareClosure
  let decodeError: @Sendable (Data?, ResourceResponse) throws -> (any Error)?
  let isStream: Bool
  /// Makes the value of a 2xx answer.
  let finish: @Sendable (ResponseBody, ResourceResponse) throws -> Output

  init<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, transport: any Transport, configuration: StackConfiguration,
    isStream: Bool, finish: @escaping @Sendable (ResponseBody, ResourceResponse) throws -> Output
  ) {
    self.transport = transport
    self.configuration = configuration
    interceptors =
      resource.interceptors.isEmpty ? configuration.interceptors : configuration.interceptors + resource.interceptors
    hooksWait = interceptors.contains(where: \.hooksWait)
    baseRequestMaking = resource.baseRequestMaking
    options = resource.options
    retryActionPriority = resource.retryActionPriority
    let errorDecoding = resource.errorDecoding
    decodeError = { try errorDecoding.decode($0, $1) }
    self.isStream = isStream
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
    for (name, value, least) in [
      ("RequestOptions.maximumBodyBytes", options.maximumBodyBytes ?? 0, 0),
      ("StackConfiguration.maximumBodyBytes", configuration.maximumBodyBytes, 0),
      ("StackConfiguration.maximumErrorBodyBytes", configuration.maximumErrorBodyBytes, 0),
      ("StackConfiguration.maximumAttempts", configuration.maximumAttempts, 1),
    ] where value < least {
      throw .refused(.invalidOption, "\(name) is \(value)", hint: "give \(least) or more")
    }
    guard configuration.maximumRetryAfter >= .zero else {
      throw .refused(
        .invalidOption, "StackConfiguration.maximumRetryAfter is \(configuration.maximumRetryAfter)",
        hint: "give a duration of zero or more")
    }
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
