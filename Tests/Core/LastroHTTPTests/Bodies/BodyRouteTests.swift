// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire
import Testing

@testable import LastroHTTP

@Suite("Routing of response bodies")
struct BodyRouteTests {
  private func request(_ delivery: TransferRequest.Delivery, errors: Int? = nil) -> TransferRequest {
    let head = HTTPRequest(method: .get, scheme: "http", authority: "h", path: "/")
    return TransferRequest(head: head, delivery: delivery, maximumErrorBytes: errors)
  }

  private func route(
    _ request: TransferRequest, status: Int, fields: [ResponseHead.Field] = []
  ) throws -> BodyRoute {
    let head = ResponseHead(version: (1, 1), status: status, reason: "", fields: fields)
    var route = BodyRoute()
    route.note(
      try HTTPResponse(head), status: head.status, try ResponseFraming(head), toHead: request.head.method == .head)
    try route.decide(request, status: status)
    return route
  }

  @Test(
    "An error body is cut at the smallest of the limits, whatever the delivery",
    arguments: [
      (TransferRequest.Delivery.collected(maximumBytes: 9), nil, 9), (.collected(maximumBytes: 9), 4, 4),
      (.streamedOnSuccess(maximumBytes: nil, errorBytes: 9), nil, 9),
      (.streamedOnSuccess(maximumBytes: nil, errorBytes: 9), 4, 4),
    ] as [(TransferRequest.Delivery, Int?, Int)])
  func errors(delivery: TransferRequest.Delivery, errors: Int?, limit: Int) throws {
    var route = try route(request(delivery, errors: errors), status: 500)
    #expect(route.isErrorAnswer && !route.isStream)
    let whole = try route.share(of: limit, behind: 0)
    #expect(whole == limit && !route.wasCut)
    let part = try route.share(of: 2, behind: Int64(limit) - 1)
    #expect(part == 1 && route.wasCut && route.cut == .limit(limit))
  }

  @Test("A success body over its limit fails: at the head if it announces the length, else when the limit is exceeded")
  func excess() throws {
    let request = request(.collected(maximumBytes: 9))
    #expect(throws: TransportError.self) {
      try route(request, status: 200, fields: [.init(name: "Content-Length", value: "10")])
    }
    var whole = try route(request, status: 200, fields: [.init(name: "Content-Length", value: "9")])
    #expect(whole.reservation(beyond: 4) == 9 && whole.reservation(beyond: 9) == nil)
    let first = try whole.share(of: 9, behind: 0)
    #expect(first == 9)
    let error = #expect(throws: TransportError.self) { try whole.share(of: 1, behind: 9) }
    #expect(error?.code == .bodyTooLarge && !whole.wasCut)
  }

  @Test("Responses to HEAD, and 204 and 304, have no body, whatever length they announce")
  func bodiless() throws {
    let length = [ResponseHead.Field(name: "Content-Length", value: "20000")]
    var asked = request(.collected(maximumBytes: 9))
    #expect(try route(asked, status: 304, fields: length).length == nil)
    asked.head.method = .head
    let route = try route(asked, status: 200, fields: length)
    #expect(!route.mayHaveBody && !route.announcesBody && route.leavesLittle)
  }

  @Test("A body cut at the head is reported if the head announced one")
  func cutAtHead() throws {
    let asked = request(.streamed(maximumBytes: nil))
    var empty = try route(asked, status: 200, fields: [.init(name: "Content-Length", value: "0")])
    empty.cutAtHead()
    #expect(empty.wasCut && empty.cut == nil && empty.leavesLittle)
    var full = try route(asked, status: 200, fields: [.init(name: "Content-Length", value: "65537")])
    full.cutAtHead()
    #expect(full.cut == .unread && !full.leavesLittle)
  }

  @Test("Discarding a body to keep its connection is bounded, also without an announced length")
  func drained() throws {
    let chunked = [ResponseHead.Field(name: "Transfer-Encoding", value: "chunked")]
    var route = try route(request(.collected(maximumBytes: 9)), status: 302, fields: chunked)
    #expect(route.leavesLittle)
    route.sink = .drop
    let most = try route.share(of: 65_536, behind: 0)
    #expect(most == 65_536 && !route.wasCut)
    let rest = try route.share(of: 1, behind: 0)
    #expect(rest == 0 && route.wasCut)
    let endless = try self.route(request(.collected(maximumBytes: 9)), status: 302)
    #expect(!endless.leavesLittle, "only the end of the connection ends the body")
  }

  @Test("A truncated body does not hide the status of an error, and fails a success")
  func weighing() throws {
    let lost = HeadViolation.endsInHead.transportError
    var refused = try route(request(.collected(maximumBytes: 9)), status: 503)
    #expect(refused.weigh(lost) == nil && refused.cut != nil)
    var taken = try route(request(.collected(maximumBytes: 9)), status: 200)
    #expect(taken.weigh(lost) != nil && taken.cut == nil)
  }
}
