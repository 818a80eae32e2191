// SPDX-License-Identifier: Apache-2.0

import LastroWire
import Testing

@testable import LastroHTTP

@Suite("HTTP/2: extended CONNECT and priorities")
struct HTTP2TunnelTests {
  @Test("Extended CONNECT is allowed once the server has announced it, early or late")
  func announcement() throws {
    let lab = try SessionLab()
    lab.send()
    #expect(!lab.session.hasSettings && !lab.session.allowsTunnels)
    lab.receive([.settings()])
    #expect(lab.session.hasSettings && !lab.session.allowsTunnels)
    lab.receive([.settings([(8, 1)])])
    #expect(lab.session.allowsTunnels && lab.session.loss == nil)
  }

  @Test("A withdrawn or invalid announcement is a connection error", arguments: [0, 2] as [UInt32])
  func withdrawal(value: UInt32) throws {
    let lab = try SessionLab.ready(settings: [(8, 1)])
    let stream = try lab.open()
    lab.receive([.settings([(8 as UInt16, value)])])
    guard case .lost(.violation) = lab.ending(stream) else {
      Issue.record("\(String(describing: lab.ending(stream)))")
      return
    }
    #expect(lab.frames(.goAway).map { Array($0.payload[4..<8]) } == [[0, 0, 0, 1]])
  }

  @Test("The protocol is the field after the path, and must be a token")
  func fields() throws {
    var fields = try SessionLab.request("CONNECT")
    try fields.addProtocol("websocket")
    try fields.add("sec-websocket-version", "13")
    let text = String(decoding: fields.bytes, as: UTF8.self)
    #expect(text.contains(":path/:protocolwebsocketsec-websocket-version13"))
    #expect(throws: RequestViolation.self) { try fields.addProtocol("") }
    #expect(throws: RequestViolation.self) { try fields.addProtocol("a b") }
  }

  @Test("A priority is sent for an open stream, if the server has announced that it uses priorities")
  func priority() throws {
    for isAnnounced in [true, false] {
      let lab = try SessionLab.ready(settings: isAnnounced ? [(9, 1)] : [])
      let stream = try lab.open()
      lab.forget()
      lab.session.setPriority("u=1, i", of: stream)
      lab.send()
      let frame = WireFrame(type: 0x10, payload: [0, 0, 0, 1] + Array("u=1, i".utf8))
      #expect(lab.sent == (isAnnounced ? [frame] : []))
      lab.session.reset(stream)
      lab.send()
      lab.forget()
      lab.session.setPriority("u=2", of: stream)
      lab.send()
      #expect(lab.sent == [])
    }
  }
}
