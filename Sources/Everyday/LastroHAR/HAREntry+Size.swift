// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension HAR.Entry {
  /// The approximate memory use: the bytes of the texts, plus a constant for the rest.
  package var keptBytes: Int {
    let texts = [
      request.url, request.postData?.text, request.postData?.mimeType, response.statusText, response.redirectURL,
      response.content.text, response.content.mimeType, error?.message, error?.hint, operation,
    ]
    let fields = request.headers + request.queryString + response.headers
    let cookies = request.cookies + response.cookies
    return 1024 + texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
      + fields.reduce(0) { $0 + 64 + $1.name.utf8.count + $1.value.utf8.count }
      + cookies.reduce(0) { $0 + 128 + $1.name.utf8.count + $1.value.utf8.count }
  }
}
