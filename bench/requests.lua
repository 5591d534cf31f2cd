-- Gives wrk the requests of a file in turn; NUL separates them. Ten # in a request are replaced by a
-- unique number, counted from the second argument.
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
