-- wrk's requests: those of a file, in turn, NUL between them. Ten # in one become a number that no
-- other has, counted from the second argument on.
local requests, at, number = {}, 0, 0

function init(args)
  local file = assert(io.open(args[1], 'rb'))
  for request in file:read('*a'):gmatch('[^%z]+') do requests[#requests + 1] = request end
  file:close()
  number = tonumber(args[2])
end

function request()
  at = at % #requests + 1
  local text = requests[at]
  if not text:find('##########', 1, true) then return text end
  number = number + 1
  return (text:gsub('##########', ('%010d'):format(number), 1))
end
