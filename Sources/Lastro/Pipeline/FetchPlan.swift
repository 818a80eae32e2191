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
      ? .streamedOnSuccess(maximumBytes: options.maximumBodyBytes, errorBytes: configuration.maximumErrorBodyBytes)
      : .collected(maximumBytes: options.maximumBodyBytes ?? configuration.maximumBodyBytes)
  }

  func snippet(_ body: Data?) -> BodySnippet? {
    guard configuration.bodySnippetBytes > 0, let body, !body.isEmpty else { return nil }
    return BodySnippet(body, limit: configuration.bodySnippetBytes)
  }
}
