// SPDX-License-Identifier: Apache-2.0

extension TransportNetworkStack {
  /// Runs a call whose success is 101 (RFC 9110 §15.2.2). Its value is the stream, which speaks another protocol now.
  ///
  /// - Throws: as a fetch.
  package func upgrade<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<any Error>) -> Network.Value<(any ByteStream)?, ResourceResponse> {
    let plan = FetchPlan(
      resource, transport: transport, configuration: sharedConfiguration, interceptors: interceptors, isStream: false,
      acceptsUpgrade: true
    ) { body, _ in FetchedValue.Of(body.upgraded) }
    let fetched = try await FetchCall(plan).run()
    return Network.Value(value: fetched.value.open(as: (any ByteStream)?.self), response: fetched.response)
  }
}
