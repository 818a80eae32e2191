// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroSupport

/// Keeps the heads in front of the last one: of redirects, and interim ones.
final class HeadRecorder: HTTPResourceInterceptor {
  private enum Head {
    case interim(HTTPResponse)
    case redirect(ResourceResponse)
  }

  private let heads = Lock<[Head]>([])

  var hooksWait: Bool { false }

  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    guard context.hop == 0 else { return result }
    heads.withLock { $0 = [] }
    return result.map { $0.tellingInterim { [heads] head in heads.withLock { $0.append(.interim(head)) } } }
  }

  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    if let response = context.redirectedFrom { heads.withLock { $0.append(.redirect(response)) } }
  }

  /// All heads, as `-i` has them.
  func text(with last: ResourceResponse) -> String {
    let version = last.facts.httpVersion
    return heads.withLock { $0 }.map { head in
      switch head {
      case .interim(let head): head.text(version)
      case .redirect(let response): response.head.text(response.facts.httpVersion)
      }
    }.joined() + last.head.text(version)
  }
}

/// Where heads are printed.
struct HeadPrinter {
  let recorder: HeadRecorder
  let isIncluded: Bool
  /// What they are also written to.
  let dump: Int32?

  func print(_ response: ResourceResponse, in front: BodySink) throws(BodySink.WriteFailure) {
    let text = Data(recorder.text(with: response).utf8)
    if isIncluded { try front.writeHead(text) }
    if let dump { try BodySink.writeAll(text, to: dump) }
  }
}

extension ResourceRequest {
  /// A copy whose interim responses another one is told of as well.
  func tellingInterim(_ tell: @escaping @Sendable (HTTPResponse) -> Void) -> ResourceRequest {
    var copy = self
    let next = options.onInterimResponse
    copy.options.onInterimResponse = { head in
      next?(head)
      tell(head)
    }
    return copy
  }
}

extension HTTPResponse {
  /// The status line; HTTP/2 has no reason.
  func statusLine(_ version: String?) -> String { "HTTP/\(version ?? "1.1") \(status.code) \(status.reasonPhrase)" }

  fileprivate func text(_ version: String?) -> String {
    let fields = headerFields.map { "\($0.name.rawName): \($0.value)\r\n" }
    return "\(statusLine(version))\r\n\(fields.joined())\r\n"
  }
}
