// SPDX-License-Identifier: Apache-2.0

extension TransportNetworkStack {
  /// Runs a call whose success is 101 (RFC 9110 §15.2.2): the transport keeps the connection, and hands it on by itself.
  ///
  /// - Throws: as a fetch.
  package func upgrade<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<any Error>) -> ResourceResponse {
    let plan = FetchPlan(
      resource, transport: transport, configuration: sharedConfiguration, interceptors: interceptors, isStream: false,
      acceptsUpgrade: true
    ) { _, _ in FetchedValue.Of(()) }
    return try await FetchCall(plan).run().response
  }
}
