// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import Lastro

extension TransferRequest {
  /// Returns a request whose response body is collected in memory.
  package static func to(
    _ path: String = "/", _ method: HTTPRequest.Method = .get, scheme: String = "http", authority: String = "h",
    fields: HTTPFields = [:], body: RequestBody = .empty, limit: Int = 1 << 20, _ edit: (inout Self) -> Void = { _ in }
  ) -> Self {
    var request = TransferRequest(
      head: HTTPRequest(method: method, scheme: scheme, authority: authority, path: path, headerFields: fields),
      body: body, delivery: .collected(maximumBytes: limit), deadline: .seconds(240))
    edit(&request)
    return request
  }
}
